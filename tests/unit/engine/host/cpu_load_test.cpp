// Limits of control groups, read from folders that hold what the kernel shows.

#include "engine/host/cpu_load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

class Cgroup : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        (void)scratch_.write(path, text + "\n");
    }
    std::string root() const { return scratch_.path(); }

    ScratchFolder scratch_;
};

TEST_F(Cgroup, SeesNoLimitWhereThereIsNone) {
    put("a/cpu.max", "max 100000");
    put("a/pids.max", "max");
    const CgroupLimits limits = read_cgroup_limits("0::/a\n", root());
    EXPECT_FALSE(limits.cpus);
    EXPECT_FALSE(limits.tasks_left);
    EXPECT_FALSE(read_cgroup_limits("", root()).cpus);
    EXPECT_FALSE(read_cgroup_limits("0::/a\n", root() + "/not-mounted").cpus);
}

TEST_F(Cgroup, TakesTheLeastOfAllGroupsAbove) {
    put("a/cpu.max", "150000 100000");
    put("a/b/cpu.max", "400000 200000");
    put("a/pids.max", "100");
    put("a/pids.current", "40");
    put("a/b/pids.max", "90");
    put("a/b/pids.current", "10");
    put("a/memory.max", "1000");
    put("a/b/memory.max", "max");
    const CgroupLimits limits = read_cgroup_limits("0::/a/b\n", root());
    EXPECT_EQ(limits.cpus, 1.5);
    EXPECT_EQ(limits.period_us, 100'000);
    EXPECT_EQ(limits.tasks_left, 60);
    EXPECT_EQ(limits.memory_bytes, 1000);
    EXPECT_TRUE(limits.known);
    EXPECT_FALSE(read_cgroup_limits("", root()).known);
}

TEST_F(Cgroup, ReadsTheRootWhereAContainerSeesNoMore) {
    put("cpu.max", "50000 100000");
    EXPECT_EQ(read_cgroup_limits("0::/kubepods/pod7/x\n", root()).cpus, 0.5);
}

TEST_F(Cgroup, ReadsTheFirstVersionToo) {
    put("cpu,cpuacct/docker/1/cpu.cfs_quota_us", "200000");
    put("cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000");
    put("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1");
    put("cpu,cpuacct/docker/cpu.cfs_period_us", "100000");
    put("pids/docker/1/pids.max", "20");
    put("pids/docker/1/pids.current", "20");
    put("memory/docker/1/memory.limit_in_bytes", "4096");
    const CgroupLimits limits = read_cgroup_limits(
        "4:cpu,cpuacct:/docker/1\n3:pids:/docker/1\n5:memory:/docker/1\n0::/\n", root());
    EXPECT_EQ(limits.cpus, 2.0);
    EXPECT_EQ(limits.tasks_left, 0);
    EXPECT_EQ(limits.memory_bytes, 4096);
}

// The engine takes the CPU on which least is going on, and says so.

CpuLoad load(std::uint32_t cpu, std::int64_t busy, std::vector<std::uint32_t> siblings = {}) {
    return {cpu, busy, 10, std::move(siblings)};
}

std::uint32_t chosen(const std::vector<CpuLoad>& loads,
                     std::optional<std::uint32_t> writer_cpu = std::nullopt,
                     std::string_view isolated = "\n") {
    std::vector<std::uint32_t> allowed = members_of(loads, &CpuLoad::cpu);
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
    EXPECT_TRUE(says(choose_quiet_cpu({0, 1}, "\n", {}, {}).reason, "the last allowed"));
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

// CPUs of several engines: cores of their own first, then siblings, then shared ones.

using Cpus = std::vector<std::uint32_t>;

/// CPUs 0 to 3 and their siblings 4 to 7; CPU 2 is busy.
std::vector<CpuLoad> loads_of_four_cores() {
    std::vector<CpuLoad> loads;
    for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
        CpuLoad load;
        load.cpu = cpu;
        load.ticks = 10;
        load.busy = cpu == 2 ? 9 : 0;
        load.siblings = {cpu < 4 ? cpu + 4 : cpu - 4};
        loads.push_back(load);
    }
    return loads;
}

const Cpus eight{0, 1, 2, 3, 4, 5, 6, 7};

TEST(EngineCpus, AreCoresOfTheirOwnFirst) {
    const std::vector<CpuLoad> loads = loads_of_four_cores();
    EXPECT_EQ(choose_engine_cpus(7, 1, eight, loads), (Cpus{7}));
    EXPECT_EQ(choose_engine_cpus(7, 4, eight, loads), (Cpus{7, 6, 5, 4}));
    EXPECT_EQ(choose_engine_cpus(7, 5, eight, loads), (Cpus{7, 6, 5, 4, 3}));
    EXPECT_EQ(choose_engine_cpus(7, 8, eight, loads).back(), 2u) << "the busy one last";
}

TEST(EngineCpus, AreSharedWhereThereAreTooFew) {
    EXPECT_EQ(choose_engine_cpus(1, 5, {0, 1}, {}), (Cpus{1, 0, 1, 0, 1}));
    EXPECT_EQ(choose_engine_cpus(0, 2, {0}, {}), (Cpus{0, 0}));
}

TEST(EngineCpus, LeaveACoreToTheWriter) {
    EXPECT_EQ(engines_for(eight, loads_of_four_cores()), 3u);
    EXPECT_EQ(engines_for({0, 1}, {}), 1u);
    EXPECT_EQ(engines_for({3}, {}), 1u);
}

TEST(EngineCpus, LeaveTheOthersToAllElse) {
    EXPECT_EQ(cpus_beside({7, 6}, eight), (Cpus{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(cpus_beside({1, 0, 1}, {0, 1}), (Cpus{0, 1})) << "there is no other";
}

}  // namespace

}  // namespace driftless
