// Token budgets as they are typed, and what is refused.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "cmd/flags/replay_values.hpp"
#include "engine/plan/plan.hpp"

namespace driftless {

namespace {

TEST(LimitValues, TellTokensInATime) {
    const Result<TypedBudget> minute = parse_input_budget("500k/m");
    ASSERT_TRUE(minute);
    EXPECT_EQ(minute.value().rate.tokens, 500'000u);
    EXPECT_EQ(minute.value().rate.period, seconds(60));
    EXPECT_FALSE(minute.value().uncached);
    const Result<TypedBudget> uncached = parse_input_budget("30M/h:uncached");
    ASSERT_TRUE(uncached);
    EXPECT_EQ(uncached.value().rate.tokens, 30'000'000u);
    EXPECT_TRUE(uncached.value().uncached);
    EXPECT_EQ(text_of(uncached.value().rate, true), "30000000/h:uncached");
    const Result<TypedBudget> second = parse_output_budget("7/s");
    ASSERT_TRUE(second);
    EXPECT_EQ(text_of(second.value().rate, false), "7/s");
    EXPECT_EQ(text_of(TokenRate{}, false), "");
}

TEST(LimitValues, RefuseWhatIsNoRate) {
    for (const char* text : {"", "/m", "5", "5/d", "0/m", "-1/m", "1.5/m", "k/m", "5kk/m",
                             "5/m:all", "5/m:uncached:uncached", "18446744073709551615k/m"}) {
        EXPECT_FALSE(parse_input_budget(text)) << text;
        EXPECT_FALSE(parse_output_budget(text)) << text;
    }
    EXPECT_TRUE(parse_output_budget("1000000M/m"));
    EXPECT_FALSE(parse_output_budget("1000001M/m"));
    EXPECT_FALSE(parse_output_budget("5/m:uncached"));
}

// Values of the flags of users mean exactly what was typed, or are refused with a remedy.

// What parsing `text` refuses it with; the empty text where it is taken.
template <class Value>
std::string refusal(const Result<Value>& read) {
    return read ? "" : read.error().doing;
}

TEST(UserValues, ReadTreeRules) {
    for (const TreeRule rule : {TreeRule::file, TreeRule::shuffle}) {
        const Result<TreeRule> read = parse_tree_rule(name_of(rule));
        ASSERT_TRUE(read);
        EXPECT_EQ(read.value(), rule);
    }
    for (const char* text : {"", "File", "random", "file ", "shuffled"}) {
        EXPECT_EQ(refusal(parse_tree_rule(text)), "is not one of file, shuffle") << text;
    }
}

TEST(UserValues, ReadFailureRules) {
    for (const std::string text : {"end-tree", "continue", "retry:1", "retry:2", "retry:30"}) {
        const Result<FailureRules> read = parse_failure_rules(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(text_of(read.value()), text);
        EXPECT_FALSE(read.value().waits_for_429);
    }
    EXPECT_EQ(parse_failure_rules("end-tree").value().rule, FailureRule::end_tree);
    EXPECT_EQ(parse_failure_rules("continue").value().rule, FailureRule::go_on);
    EXPECT_EQ(parse_failure_rules("retry:7").value().rule, FailureRule::retry);
    EXPECT_EQ(parse_failure_rules("retry:7").value().retries_max, 7u);
}

// An event has room for so many attempts: limit - 1, limit, limit + 1.
TEST(UserValues, BoundRetries) {
    static_assert(Due::attempts_max == 31);
    const std::string remedy = "is not one of end-tree, continue, or retry:N with N from 1 to 30";
    EXPECT_EQ(refusal(parse_failure_rules("retry:29")), "");
    EXPECT_EQ(refusal(parse_failure_rules("retry:30")), "");
    for (const char* text :
         {"retry:31", "retry:256", "retry:4294967297", "retry:99999999999999999999", "retry:0",
          "retry:-1", "retry:1.5", "retry:", "retry", "retry: 1", "Retry:1", "end_tree",
          "end-tree ", "", "continue:1", "record"}) {
        EXPECT_EQ(refusal(parse_failure_rules(text)), remedy) << text;
    }
}

TEST(UserValues, ReadWhatA429Does) {
    EXPECT_FALSE(parse_wait_for_429("record").value());
    EXPECT_TRUE(parse_wait_for_429("wait").value());
    EXPECT_EQ(refusal(parse_wait_for_429("retry")), "is not one of record, wait");
    EXPECT_EQ(refusal(parse_wait_for_429("")), "is not one of record, wait");
}

std::optional<std::pair<double, double>> within(std::string_view text) {
    const Result<StartWithin> read = parse_start_within(text);
    return read ? std::optional(std::pair(read.value().from, read.value().to)) : std::nullopt;
}

TEST(UserValues, ReadSharesOfARecording) {
    using Shares = std::pair<double, double>;
    EXPECT_EQ(within("0:0"), Shares(0, 0));
    EXPECT_EQ(within("0:1"), Shares(0, 1));
    EXPECT_EQ(within("0.0:1.0"), Shares(0, 1));
    EXPECT_EQ(within("0.25:0.75"), Shares(0.25, 0.75));
    EXPECT_EQ(within("25%:0.75"), Shares(0.25, 0.75));
    EXPECT_EQ(within("0%:100%"), Shares(0, 1));
    EXPECT_EQ(within("0.5:0.5"), Shares(0.5, 0.5));
    EXPECT_EQ(within("1:1"), Shares(1, 1));
    for (const char* zero : {"0", "0.0", "0.00", "0.000000000", "00", ".0", "0.", "0%", "0.0%"}) {
        EXPECT_EQ(within(std::string(zero) + ":0.5"), Shares(0, 0.5)) << zero;
    }
}

TEST(UserValues, RefuseWhatIsNoPartOfARecording) {
    for (const char* text :
         {"", ":", "0.5", "0.5:", ":0.5", "0.75:0.25", "1:0", "0.5:1.1", "0:101%", "-0.1:0.5",
          "0.1:-0.5", "0.1:0.5:0.7", "a:b", "0,1:0,5", "0.1-0.5", "nan:1", "0 :1", "0: 1"}) {
        EXPECT_EQ(refusal(parse_start_within(text)),
                  "is not two shares of a recording, the smaller first; use 0.25:0.75 or 0:50%")
            << text;
    }
}

TEST(UserValues, ReadHowManyUsers) {
    EXPECT_EQ(parse_user_count("8").value().first, 8u);
    EXPECT_EQ(parse_user_count("8").value().most, 8u);
    EXPECT_EQ(parse_user_count("2..64").value().first, 2u);
    EXPECT_EQ(parse_user_count("2..64").value().most, 64u);
    for (const char* text : {"", "0", "..", "2..", "2..2", "3..2", "0..2", "2...3", "2..3..4",
                             "a..b", "2..4294967296", "-1..2"}) {
        EXPECT_FALSE(parse_user_count(text)) << text;
    }
}

TEST(UserValues, ReadWhatUsersAreAddedBy) {
    EXPECT_EQ(text_of(parse_grow_rules("ttft:2s").value()), "ttft:avg:2s");
    EXPECT_EQ(text_of(parse_grow_rules("ttft:p95:250ms").value()), "ttft:p95:250ms");
    EXPECT_EQ(text_of(parse_grow_rules("ttft-due:max:1m").value()), "ttft_due:max:1m");
    EXPECT_EQ(text_of(parse_grow_rules("e2e:20s").value()), "e2e:avg:20s");
    EXPECT_TRUE(parse_user_count("..8").value().is_bound);
    EXPECT_EQ(parse_user_count("..8").value().most, 8U);
    EXPECT_FALSE(parse_user_count(".."));
    EXPECT_EQ(text_of(parse_grow_rules("tpot:p99:50ms").value()), "tpot:p99:50ms");
    EXPECT_EQ(text_of(GrowRules()), "");
    for (const char* text :
         {"", ":", "ttft", "ttft:", "ttft:0", "ttft:p95", "ttft:p95:", "2s", "itl:2s",
          "ttft:p42:2s", "ttft:p95:2s:3s", "ttft::2s", "ttft:p95:-2s"}) {
        EXPECT_FALSE(parse_grow_rules(text)) << text;
    }
}

TEST(UserValues, ReadWhatTurnsWaitForAndPassesShare) {
    EXPECT_FALSE(parse_tree_barrier("stream").value());
    EXPECT_TRUE(parse_tree_barrier("tree").value());
    EXPECT_EQ(refusal(parse_tree_barrier("trees")), "is not one of stream, tree");
    EXPECT_FALSE(parse_shares_system("none").value());
    EXPECT_TRUE(parse_shares_system("system").value());
    EXPECT_EQ(refusal(parse_shares_system("all")), "is not one of none, system");
}

TEST(UserValues, ReadHowTreesBegin) {
    EXPECT_FALSE(parse_start_by_turns("timeline").value());
    EXPECT_TRUE(parse_start_by_turns("turns").value());
    EXPECT_EQ(refusal(parse_start_by_turns("turn")), "is not one of timeline, turns");
    EXPECT_FALSE(parse_prime_one_token("exact").value());
    EXPECT_TRUE(parse_prime_one_token("one-token").value());
    EXPECT_EQ(refusal(parse_prime_one_token("one")), "is not one of exact, one-token");
}

}  // namespace

}  // namespace driftless
