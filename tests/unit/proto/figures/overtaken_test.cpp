// Turns that were sent before the turn before them had ended are counted among those of which that
// is known; where nothing is known the count is null.
#include <gtest/gtest.h>

#include <string>

#include "proto/figures/summary.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

Record turn(std::optional<bool> overtaken) {
    Record record;
    record.outcome = Outcome::truncated;
    record.fired_ns = 5;
    record.ended_ns = 9;
    record.overtaken = overtaken;
    return record;
}

bool summary_says(const Summary& summary, const char* part) {
    return summary_json(summary.figures(), {}).find(part) != std::string::npos;
}

TEST(OvertakenTurns, AreCountedWhereTheyAreKnown) {
    Summary summary;
    summary.add(turn(std::nullopt));
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":0,"overtaken_turns":null,)"));
    summary.add(turn(false));
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":1,"overtaken_turns":0,)"));
    summary.add(turn(true));
    summary.add(turn(true));
    EXPECT_EQ(summary.figures().follow_up_turns, 3u);
    EXPECT_EQ(summary.figures().overtaken_turns, 2u);
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":3,"overtaken_turns":2,)"));
}

}  // namespace
}  // namespace driftless
