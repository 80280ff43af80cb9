// The engine takes the CPU on which least is going on, and says so.
#include "engine/host/cpu_load.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

CpuLoad load(std::uint32_t cpu, std::int64_t busy, std::vector<std::uint32_t> siblings = {}) {
    return {cpu, busy, 10, std::move(siblings)};
}

std::uint32_t chosen(const std::vector<CpuLoad>& loads,
                     std::optional<std::uint32_t> writer_cpu = std::nullopt,
                     std::string_view isolated = "\n") {
    std::vector<std::uint32_t> allowed;
    for (const CpuLoad& one : loads) {
        allowed.push_back(one.cpu);
    }
    return choose_quiet_cpu(allowed, isolated, loads, writer_cpu).cpu;
}

// Columns of proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice.
TEST(CpuLoad, ReadsTheKernelsLines) {
    const std::vector<CpuLoad> loads = parse_cpu_loads(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 100 100\ncpu17 10 0 0 90 0 0 0 0 0 0\n"
        "intr 55\ncpu3 1 1 1 1 1 1 1 1 1 1\n");
    ASSERT_EQ(loads.size(), 2u);
    EXPECT_EQ(loads[0].cpu, 0u);
    EXPECT_EQ(loads[0].busy, 27);
    EXPECT_EQ(loads[0].ticks, 72);
    EXPECT_EQ(loads[1].cpu, 17u);
    EXPECT_EQ(loads[1].busy, 10);
    EXPECT_TRUE(parse_cpu_loads("").empty());
    const std::vector<CpuLoad> cut = parse_cpu_loads("cpu0");
    ASSERT_EQ(cut.size(), 1u);
    EXPECT_EQ(cut[0].ticks, 0);  // nothing is known of it: see the last test but one
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {cut[0], load(1, 9)}, {}).cpu, 1u);
}

// Beside a local server: not the last CPU where the server runs there.
TEST(CpuLoad, TakesTheQuietest) {
    EXPECT_EQ(chosen({load(0, 0), load(1, 10)}), 0u);
    EXPECT_EQ(chosen({load(0, 10), load(1, 0)}), 1u);
    EXPECT_EQ(chosen({load(0, 9), load(1, 2), load(2, 9)}), 1u);
    const CpuChoice choice = choose_quiet_cpu({0, 1}, "\n", {load(0, 0), load(1, 9)}, {});
    EXPECT_EQ(choice.reason, "the quietest of 2 over 100 ms: 0 % busy, the busiest 90 %");
    const CpuChoice alike = choose_quiet_cpu({0, 1}, "\n", {load(0, 10), load(1, 10)}, {});
    EXPECT_EQ(alike.reason, "both were 100 % busy over 100 ms");
}

// One tick is how the kernel happened to count; two are work.
TEST(CpuLoad, ATickIsNoDifference) {
    EXPECT_EQ(chosen({load(0, 0), load(1, 0)}), 1u);
    EXPECT_EQ(chosen({load(0, 0), load(1, 1)}), 1u);
    EXPECT_EQ(chosen({load(0, 0), load(1, 2)}), 0u);
}

// Two threads of one core share it: a busy sibling counts half.
TEST(CpuLoad, AvoidsABusySibling) {
    EXPECT_EQ(chosen({load(0, 0, {2}), load(1, 0, {3}), load(2, 0, {0}), load(3, 10, {1})}), 2u);
    EXPECT_EQ(chosen({load(0, 10, {2}), load(1, 0, {3}), load(2, 0, {0}), load(3, 6, {1})}), 1u);
}

TEST(CpuLoad, LeavesTheWriterItsCpu) {
    EXPECT_EQ(chosen({load(0, 9), load(1, 0)}, 1), 0u);
    EXPECT_EQ(chosen({load(1, 9)}, 1), 1u);  // the only one
    EXPECT_EQ(chosen({load(0, 9), load(1, 0), load(2, 0)}, 2), 1u);
}

// What is isolated is quiet by order; what cannot be read is not guessed at.
TEST(CpuLoad, IsolatedFirstAndUnknownAsBefore) {
    EXPECT_EQ(chosen({load(0, 0), load(1, 9), load(2, 0)}, {}, "1\n"), 1u);
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {}, {}).cpu, 1u);
    EXPECT_NE(choose_quiet_cpu({0, 1}, "\n", {}, {}).reason.find("the last allowed"),
              std::string::npos);
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {load(0, 0)}, {}).cpu, 1u);
}

TEST(CpuLoad, SamplesThisHost) {
    const std::vector<CpuLoad> loads = sample_cpu_loads(1'000'000);
    ASSERT_FALSE(loads.empty());
    for (const CpuLoad& one : loads) {
        EXPECT_GE(one.ticks, 0);
        EXPECT_GE(one.busy, 0);
    }
}

}  // namespace
}  // namespace driftless
