// Gaps between starts: rows that wait for the end and for the start of one and the same other row
// keep every law, also where the run dies and goes on.
#include <gtest/gtest.h>

#include <utility>

#include "engine/plan/wait_graph.hpp"
#include "tests/sim/killed_laws.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 60;
constexpr std::int64_t cap_ns = 20'000'000;

Trace timed_by_starts(std::uint64_t seed) {
    Trace trace = swarm_trace(seed, rows);
    close_sessions(trace, seed);
    const Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    const std::size_t before = trace.dependencies.size();
    trace = retime({GapRule::start_to_start, cap_ns}, plan.value(), std::move(trace)).trace;
    EXPECT_GT(trace.dependencies.size(), before) << "no row waits twice for another";
    return trace;
}

SimOptions closed_options(std::uint64_t seed) {
    SimOptions options = swarm_options(seed);
    options.closed = true;
    return options;
}

TEST(SimGaps, BetweenStartsKeepTheLaws) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        EXPECT_EQ(broken_laws(run(timed_by_starts(seed), closed_options(seed))), "") << seed;
    }
}

TEST(SimGaps, BetweenStartsGoOn) {
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
        const KilledRun killed =
            run_killed(timed_by_starts(seed), closed_options(seed), swarm_fates(seed));
        EXPECT_EQ(broken_laws(killed), "") << seed;
    }
}

}  // namespace
}  // namespace driftless::sim
