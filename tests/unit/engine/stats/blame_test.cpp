// A row is blamed on the seconds in which its bytes can have waited.
#include "engine/stats/blame.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace driftless {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

ClientTotals ten_seconds() {
    ClientTotals totals;
    for (std::int64_t i = 0; i < 10; ++i) {
        ClientSample second;
        second.from_ns = i * second_ns;
        second.to_ns = (i + 1) * second_ns;
        totals.add(second);
    }
    return totals;
}

std::vector<TaintedRow> stream_that_waited(std::int64_t late_ns) {
    return {{0, 10 * second_ns, late_ns, Suspect::reading}};
}

// The client was stopped for 2 s; what had come meanwhile was read in the second behind it, where
// the last of it had waited longest.
TEST(Blame, AStopMayLieBeforeTheSecondInWhichItsBacklogWasRead) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = 2 * second_ns;
    totals.each[5].receive_delay_max_ns = 2 * second_ns + 8'000'000;
    const Blame blame = blame_of(stream_that_waited(2 * second_ns + 8'000'000), totals);
    EXPECT_EQ(blame.host, 1u);
    EXPECT_EQ(blame.client, 0u);
    EXPECT_EQ(blame.gap_max_ns, 2 * second_ns);
}

// A wait of 300 ms that was seen in the sixth second did not begin in the fourth.
TEST(Blame, AStopFarBeforeTheWaitExcusesNothing) {
    ClientTotals totals = ten_seconds();
    totals.each[3].gap_max_ns = 400'000'000;
    totals.each[5].receive_delay_max_ns = 300'000'000;
    const Blame blame = blame_of(stream_that_waited(300'000'000), totals);
    EXPECT_EQ(blame.host, 0u);
    EXPECT_EQ(blame.client, 1u);
}

}  // namespace
}  // namespace driftless
