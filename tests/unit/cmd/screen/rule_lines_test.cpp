// A line a set, a line a violated rule; and what the publisher's own tests would have let pass.
#include "cmd/screen/rule_lines.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
