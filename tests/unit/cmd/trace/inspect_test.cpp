// What inspect shows: the same figures as its JSON, plots where they are asked for.
#include <gtest/gtest.h>

#include "cmd/trace/trace.hpp"
#include "tests/unit/cmd/reading/make_trace.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string shown(const Trace& trace, const InspectView& view = {}) {
    Result<InspectFigures> figures = inspect_trace(trace, {});
    CHECK(figures);
    return inspect_table(trace, figures.value(), view);
}

/// 3 of 5 blocks and 9 of 17 tokens hit: 1 2 again, then 1.
Trace sharing() {
    return make_trace(4, TailRule::ceil, {{0, 7, {1, 2}}, {1, 7, {1, 2}}, {2, 3, {3}}});
}

TEST(InspectTable, TellsWhatIsShared) {
    const std::string text = shown(sharing());
    EXPECT_TRUE(says(text, "ids                    3 in 5 references"));
    EXPECT_TRUE(says(text, "chained: equal ids mean equal prefixes"));
    EXPECT_TRUE(says(text, "partial blocks         2 ids, 1 of them in several rows"));
    EXPECT_TRUE(says(text, "prompts                1 all known, 0 known in part, 2 all new"));
    EXPECT_TRUE(says(text, "ideal hit rate         40.00 % of blocks, 41.18 % of tokens"));
    EXPECT_TRUE(says(text, "usable by a server     23.53 % of tokens"));  // one full block of 17
    EXPECT_TRUE(says(text, "\n           1             4     20.00 %     23.53 %\n"));
    EXPECT_TRUE(says(text, "\n           2             8     40.00 %     41.18 %\n"));
}

TEST(InspectTable, TellsSizesInBytesWhereATokenHasSome) {
    const std::string text = shown(sharing(), {false, 1024});
    EXPECT_TRUE(says(text, "\n           2             8   8.00 KiB     40.00 %     41.18 %\n"));
    EXPECT_TRUE(says(text, "cache bytes for this share of it"));
}

TEST(InspectTable, PlotsOnlyWhatIsAskedFor) {
    EXPECT_FALSE(says(shown(sharing()), "█"));
    const std::string text = shown(sharing(), {true, 0});
    EXPECT_TRUE(says(text, "40.00 %     41.18 %  |██████████████████████████████|\n"));
    EXPECT_TRUE(says(text, "\nRows in every 1ms\n           1 |███|\n"));
    EXPECT_TRUE(says(text, "Working set: distinct blocks used in every 1ms\n"));
    EXPECT_TRUE(says(text, "Input tokens of a row\n                2 - 3 |"));
}

// Requests in words: nobody counted their tokens.
TEST(InspectTable, SaysWhereLengthsAreNotRecorded) {
    Trace trace = make_trace(0, TailRule::ceil, {{0, 0, {}}, {1, 0, {}}});
    const std::string text = shown(trace);
    EXPECT_TRUE(says(text, "\n  input            not recorded\n"));
    EXPECT_FALSE(says(text, "input tokens"));
    EXPECT_TRUE(says(text, "\n  output                    7 "));
}

TEST(InspectTable, LeavesOutWhatTheTraceHasNot) {
    const std::string text = shown(make_trace(0, TailRule::ceil, {{0, 5, {}}, {1, 5, {}}}));
    EXPECT_FALSE(says(text, "Sharing"));
    EXPECT_FALSE(says(text, "Sessions"));
    EXPECT_FALSE(says(text, "file "));
    EXPECT_TRUE(says(text, "largest instant        1 row at 0.000 s"));
}

TEST(InspectTable, TellsContentsFromPrefixes) {
    const std::string text = shown(make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}, {1, 8, {2, 1}}}));
    EXPECT_TRUE(says(
        text,
        "block contents: 100.00 % at more than one position, 100.00 % after more than one other"));
    EXPECT_FALSE(says(text, "Cache blocks"));  // nothing hits at any size
}

TEST(InspectTable, ListsFiles) {
    Trace trace = sharing();
    trace.files = {{"a/very/long/folder/of/traces/first.json", 0}, {"second.json", 2}};
    const std::string text = shown(trace);
    EXPECT_TRUE(says(text, "...er/of/traces/first.json"));
    EXPECT_TRUE(says(text, "50.00 %   50.00 %\nsecond.json"));
    InputErrors errors;
    errors.add({});
    EXPECT_EQ(refused_line("bad.csv", errors), "bad.csv                    refused: 1 error\n");
}

}  // namespace
}  // namespace driftless
