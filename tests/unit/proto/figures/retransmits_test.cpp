// What the summary says of segments that the kernel sent again.
#include <gtest/gtest.h>

#include "proto/figures/summary.hpp"

namespace driftless {
namespace {

Record sent_record(std::uint32_t row, std::optional<std::uint32_t> segments, bool tainted) {
    Record record;
    record.row = row;
    record.fired_ns = 1000;
    record.drift_ns = 1000;
    record.outcome = Outcome::timeout_first_byte;
    record.retransmits = segments;
    if (tainted) {
        record.tainted = {"retransmitted"};
    }
    return record;
}

// Segments are summed; a row that left and was not counted is told, and one that gave up before the
// kernel sent anything again.
TEST(Retransmits, AreCountedByWhatTheyMean) {
    Summary summary;
    summary.add(sent_record(0, 0, false));
    summary.add(sent_record(1, 2, false));
    summary.add(sent_record(2, 3, true));
    summary.add(sent_record(3, std::nullopt, false));
    summary.add(sent_record(4, 0, true));
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(f.retransmits, 5u);
    EXPECT_EQ(f.retransmitted_rows, 2u);
    EXPECT_EQ(f.tainted_retransmitted, 1u);
    EXPECT_EQ(f.tainted_unacknowledged, 1u);
    EXPECT_EQ(f.retransmits_unknown, 1u);
}

}  // namespace
}  // namespace driftless
