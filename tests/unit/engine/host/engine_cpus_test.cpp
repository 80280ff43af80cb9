// CPUs of several engines: cores of their own first, then siblings, then shared ones.
#include "engine/host/engine_cpus.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace driftless {
namespace {

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
