// Good requests of all rows in one line; of groups, each with its limits, below it.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cmd/report/summary_table.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

using Texts = std::vector<std::string>;

TEST(GoodputLines, SayWhatWasAskedFor) {
    SummaryFigures f;
    EXPECT_EQ(goodput_lines(f), Texts());
    f.request_goodput = 2.5;
    f.good = 30;
    f.goodput_rules = {{{}, "", {200'000'000, 50'500'000, std::nullopt}}};
    f.goodput_counts = {{40, 30}};
    EXPECT_EQ(goodput_lines(f),
              Texts{"2.50/s: 30 of 40 rows (75.00 %) within ttft:200 tpot:50.5 ms"});
}

TEST(GoodputLines, HaveALineForEachGroup) {
    SummaryFigures f{.good = 30, .request_goodput = 2.5};
    f.goodput_rules = {{{}, "", {std::nullopt, std::nullopt, 3'000'000'000}},
                       {parse_group_key("kept.tier").value(), "gold", {1'000'000, {}, {}}}};
    f.goodput_counts = {{38, 30}, {2, 0}};
    EXPECT_EQ(goodput_lines(f), (Texts{"2.50/s: 30 of 40 rows (75.00 %)",
                                       "others: 30 of 38 rows (78.95 %) within e2e:3000 ms",
                                       "kept.tier=gold: 0 of 2 rows (0.00 %) within ttft:1 ms"}));
}

// A line a set, a line a violated rule; and what the publisher's own tests would have let pass.

RuleFinding finding(const char* set, const char* rule, RuleState state, bool published) {
    RuleFinding one;
    one.set = set;
    one.version = "1";
    one.rule = rule;
    one.state = state;
    one.published = published;
    one.evidence = "5 of 5 requests failed";
    one.bound = "at most 1 %";
    return one;
}

// A run full of 500s, which AgentX's own test calls valid.
TEST(RuleLines, SaysWhichRuleLetARunPass) {
    const auto lines = rule_lines({finding("a", "--gap", RuleState::met, true),
                                   finding("a", "context-overflows", RuleState::met, true),
                                   finding("a", "barrier", RuleState::unknown, true),
                                   finding("a", "errors", RuleState::violated, false)});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].set, "a (1): 2 met, 1 violated, 1 unknown");
    EXPECT_EQ(lines[0].violated,
              (std::vector<std::string>{"errors: 5 of 5 requests failed; at most 1 %"}));
    EXPECT_EQ(lines[0].passed,
              "the publisher's own tests call this run valid: context-overflows passed; of "
              "our own, errors did not");
}

TEST(RuleLines, AreApartBySet) {
    const auto lines = rule_lines({finding("a", "x", RuleState::met, true),
                                   finding("b", "x", RuleState::violated, true),
                                   finding("b", "y", RuleState::violated, false)});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_TRUE(lines[0].violated.empty());
    EXPECT_EQ(lines[1].violated.size(), 2U);
    EXPECT_EQ(lines[1].passed, "") << "the publisher's own did not let it pass";
    EXPECT_TRUE(rule_lines({}).empty());
}

// The table of the two sides: no line is wider than 80 columns, both drifts are told, and the
// differences have signs and units.

Distribution of(std::uint64_t count, double value) {
    Distribution d;
    d.count = count;
    d.mean = d.min = d.max = value;
    d.at.fill(value);
    return d;
}

SideFigures side_figures() {
    SideFigures sides;
    sides.a.url = "http://first:8000/v1/chat/completions";
    sides.b.url = "http://second:8000/v1/chat/completions";
    for (OneSideFigures* side : {&sides.a, &sides.b}) {
        side->completed = 12'031;
        side->ttft = of(12'031, 20.25e6);
        side->tpot = of(12'031, 10e6);
        side->e2e = of(12'031, 660.5e6);
        side->drift = of(12'031, 1'250);
    }
    sides.b.failed = 7;
    sides.b.drift = of(12'031, 11'500);
    sides.pairs.ttft = of(12'024, 12'340);
    sides.pairs.a_first = of(6'000, -2.5e6);
    sides.pairs.b_first = of(6'024, 9'000);
    sides.pairs.unpaired = 7;
    return sides;
}

TEST(SidesTable, TellsOfBothSidesAndOfTheirDifference) {
    const std::string table = sides_table(side_figures());
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_TRUE(says(table, "http://first:8000"));
    EXPECT_TRUE(says(table, "http://second:8000"));
    EXPECT_TRUE(
        says(table, "12,031       7    20.25    20.25    10.00   660.50    11.50    11.50"));
    EXPECT_TRUE(
        says(table, "12,031       0    20.25    20.25    10.00   660.50     1.25     1.25"));
    EXPECT_TRUE(says(table, "p50 +12.3 us over 12,024 rows"));
    EXPECT_TRUE(says(table, "-2.50 ms"));
    EXPECT_TRUE(says(table, "+9.0 us"));
    EXPECT_TRUE(says(table, "7 rows without a first token on both sides left out"));
}

TEST(SidesTable, IsEmptyWithoutSides) {
    EXPECT_EQ(sides_table(std::nullopt), "");
}

TEST(SidesTable, SaysNothingOfWhatNobodyMeasured) {
    SideFigures sides;
    sides.pairs.unpaired = 2;
    const std::string table = sides_table(sides);
    EXPECT_TRUE(says(table, "2 rows without a first token"));
    EXPECT_FALSE(says(table, "p50 +"));
}

}  // namespace

}  // namespace driftless
