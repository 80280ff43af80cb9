// A row is blamed on the seconds in which its bytes can have waited.
#include "engine/stats/blame.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/stats/reasons.hpp"

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

std::string host_reason(const ClientTotals& totals) {
    Reasons reasons;
    add_host_reason(blame_of(stream_that_waited(second_ns), totals), totals, reasons);
    return reasons.empty() ? "" : reasons.front();
}

// A stop of 2 s ends in a second of which others took a part: two figures, each with its own words.
TEST(Blame, AStopLongerThanASecondIsToldApartFromTheShareOfASecond) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = second_ns;
    EXPECT_EQ(host_reason(totals),
              "at that time the engine was stopped or kept from its CPU for up to 2000.000 ms "
              "without a break");
    totals.each[4].taken_ns = 136'494'000;
    EXPECT_EQ(
        host_reason(totals),
        "at that time others used the CPU for 136.494 ms of a second (13.6 %); the engine was "
        "stopped or kept from its CPU for up to 2000.000 ms without a break");
}

// Of several engines the one is named that was stopped, and that whose CPU others had.
TEST(Blame, NamesTheEngine) {
    ClientTotals totals;
    for (std::int64_t engine = 0; engine < 3; ++engine) {
        ClientSample second;
        second.engine = engine;
        second.to_ns = second_ns;
        second.spin_gap_max_ns = engine == 1 ? 2 * second_ns : 0;
        second.run_delay_ns = engine == 2 ? second_ns / 4 : 0;
        second.busy_fire_ns = engine == 0 ? second_ns / 2 : 0;
        totals.add(second);
    }
    EXPECT_EQ(host_reason(totals),
              "at that time others used the CPU of engine 2 for 250.000 ms of a second (25.0 %); "
              "engine 1 was stopped or kept from its CPU for up to 2000.000 ms without a break");
    Reasons reasons;
    add_load_reason(totals, reasons);
    EXPECT_EQ(reasons.front(),
              "engine 0 was busy for at most 50.0 % of a second, and nothing was lost; others used "
              "the CPU of engine 2 for at most 25.0 % of a second");
}

}  // namespace
}  // namespace driftless
