// What a plan needs of its host is told before the run, at the limit and beside it.
#include "cmd/replay/run/needs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

struct Row {
    std::int64_t due_ns;
    std::uint32_t tokens;
};

struct Planning {
    Trace trace;
    Plan plan;
    explicit Planning(const std::vector<Row>& rows) {
        for (const Row& row : rows) {
            TraceRow recorded;
            recorded.output_length = row.tokens;
            trace.rows.push_back(recorded);
            plan.rows.push_back({row.due_ns, static_cast<std::uint32_t>(trace.rows.size() - 1)});
        }
    }
    OpenEstimate open(std::int64_t token_ns) const { return open_estimate(plan, trace, token_ns); }
};

TEST(OpenEstimate, CountsWhatHasNotEnded) {
    EXPECT_EQ(Planning({}).open(10).most, 0u);
    // Open from 0 to 40, from 10 to 30, from 35 to 45.
    const Planning three({{0, 4}, {10, 2}, {35, 1}});
    EXPECT_EQ(three.open(10).most, 2u);
    EXPECT_EQ(three.open(10).at_ns, 10);
    EXPECT_EQ(three.open(20).most, 3u);  // to 80, 50, 55
    EXPECT_EQ(three.open(20).at_ns, 35);
}

TEST(OpenEstimate, AnEndGoesBeforeWhatIsDueLater) {
    EXPECT_EQ(Planning({{0, 1}, {9, 1}}).open(10).most, 2u);
    EXPECT_EQ(Planning({{0, 1}, {10, 1}}).open(10).most, 2u);
    EXPECT_EQ(Planning({{0, 1}, {11, 1}}).open(10).most, 1u);
    EXPECT_EQ(Planning({{7, 0}, {7, 0}, {7, 0}}).open(10).most, 3u);  // lengths are unknown
}

TEST(OpenEstimate, IsHeldAgainstDescriptorsAndPorts) {
    EXPECT_EQ(open_warning({36, 0}, {100, 0}), "");
    const std::string files = open_warning({37, 1'500'000'000}, {100, 0});
    EXPECT_TRUE(
        files.starts_with("at 5 ms per output token, 37 requests are open 1.500 s after the "
                          "start, all at once, each on its own connection"))
        << files;
    EXPECT_NE(files.find("limit of 100 open files"), std::string::npos) << files;
    EXPECT_NE(files.find("ulimit -n 101"), std::string::npos) << files;
    EXPECT_NE(files.find("--max-inflight 36"), std::string::npos) << files;
    EXPECT_NE(files.find("tainted (late_cause limit)"), std::string::npos) << files;
    const std::string ports = open_warning({12, 0}, {1 << 20, 11});
    EXPECT_NE(ports.find("ip_local_port_range"), std::string::npos) << ports;
    EXPECT_EQ(open_warning({11, 0}, {1 << 20, 11}), "");
}

std::size_t ring_bytes(const Planning& of, bool lengths_known = true, bool dues_known = true) {
    return event_ring_bytes(of.plan, of.trace, lengths_known, dues_known);
}

TEST(EventRingBytes, HoldAShortPlanFourTimes) {
    EXPECT_EQ(ring_bytes(Planning({})), event_ring_bytes_min);
    EXPECT_EQ(ring_bytes(Planning({{0, 3}})), event_ring_bytes_min) << "events may be large";
    const std::size_t one = row_event_bytes + 3000 * token_event_bytes;
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}})), 4 * one);
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}, {5'000'000'000, 3000}})), 4 * one);
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}, {5'000'000'000, 3000}}), true, false), 4 * 2 * one);
}

TEST(EventRingBytes, HoldTheBusiestSecondOfALongPlanFourTimes) {
    constexpr std::int64_t second = 1'000'000'000;
    std::vector<Row> rows;
    for (std::int64_t at = 0; at < 100; ++at) {  // 3 MB each
        rows.push_back({at * second, 3000});
    }
    const std::size_t one = row_event_bytes + 3000 * token_event_bytes;
    EXPECT_EQ(ring_bytes(Planning(rows)), 4 * one);
    rows[50].due_ns = rows[49].due_ns + second - 1;
    EXPECT_EQ(ring_bytes(Planning(rows)), 4 * 2 * one);
    EXPECT_EQ(ring_bytes(Planning(rows), true, false), event_ring_bytes_max);
    for (Row& row : rows) {
        row.tokens = 100;  // a second is less than the least that is kept
    }
    EXPECT_EQ(ring_bytes(Planning(rows)), event_ring_bytes_min);
}

TEST(EventRingBytes, AreTheMostWhereLengthsAreUnknown) {
    EXPECT_EQ(ring_bytes(Planning({{0, 3}}), false), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 3}, {1, 0}})), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 8190}})), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 8189}})), event_ring_bytes_max - 4 * token_event_bytes);
}

TEST(Bodies, AreSummedOverAStretchWithoutItsEnd) {
    const Planning rows({{0, 0}, {5, 0}, {9, 0}, {15, 0}});
    const std::vector<std::size_t> bytes{100, 20, 3, 400};
    EXPECT_EQ(bytes_within(rows.plan, bytes, 5), 400u);
    EXPECT_EQ(bytes_within(rows.plan, bytes, 9), 403u);
    EXPECT_EQ(bytes_within(rows.plan, bytes, 10), 403u);
    EXPECT_EQ(bytes_within(rows.plan, bytes, 11), 423u);
    EXPECT_EQ(bytes_within(Planning({}).plan, {}, 10), 0u);
}

TEST(Bodies, AreHeldAgainstTheirMemory) {
    EXPECT_EQ(bodies_warning(64 << 20, 64 << 20), "");
    const std::string text = bodies_warning((64 << 20) + 1, 64 << 20);
    EXPECT_NE(text.find("64 MiB are kept ready; --arm-ahead all"), std::string::npos) << text;
}

}  // namespace
}  // namespace driftless
