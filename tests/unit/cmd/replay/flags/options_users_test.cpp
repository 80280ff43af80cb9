// The flags of users: what they mean together, and every contradiction with its remedy.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/cmd/replay/flags/parse_flags.hpp"

namespace driftless {
namespace {

WorkloadFlags users_with(Words flags) {
    flags.insert(flags.end(), {"--users", "4"});
    return options_with(flags).workload;
}

std::string refusal_of_users(Words flags) {
    flags.insert(flags.end(), {"--users", "4"});
    return refusal_with(flags);
}

TEST(UserOptions, HaveTheirDefaults) {
    const UserRules none = options_with({}).workload.users;
    EXPECT_EQ(none.users, 0u);
    const WorkloadFlags workload = users_with({});
    const UserRules& users = workload.users;
    EXPECT_EQ(users.users, 4u);
    EXPECT_EQ(workload.files.sessions, Sessions::closed);
    EXPECT_EQ(users.ramp_ns, 0);
    EXPECT_EQ(users.order, TreeRule::file);
    EXPECT_FALSE(users.recycle);
    EXPECT_FALSE(users.for_ns);
    EXPECT_EQ(users.drain(), 60'000'000'000);
    EXPECT_EQ(users.failures.rule, FailureRule::end_tree);
    EXPECT_FALSE(users.failures.waits_for_429);
    EXPECT_FALSE(users.idle.any());
    EXPECT_FALSE(users.start.warms_up());
    EXPECT_FALSE(users.start.gap_cap_ns);
}

TEST(UserOptions, AreRead) {
    const UserRules users = users_with({"--session-order",
                                        "shuffle",
                                        "--recycle",
                                        "--recycle-share",
                                        "system",
                                        "--barrier",
                                        "tree",
                                        "--for",
                                        "10m",
                                        "--drain",
                                        "0s",
                                        "--on-failure",
                                        "retry:3",
                                        "--on-429",
                                        "wait",
                                        "--tree-idle-cap",
                                        "5m",
                                        "--system-idle-cap",
                                        "10s",
                                        "--start-within",
                                        "0.25:75%",
                                        "--start-by",
                                        "turns",
                                        "--prime",
                                        "one-token",
                                        "--warmup-requests",
                                        "10",
                                        "--gap-cap",
                                        "1m",
                                        "--seed",
                                        "9"})
                                .users;
    EXPECT_EQ(users.order, TreeRule::shuffle);
    EXPECT_TRUE(users.recycle);
    EXPECT_TRUE(users.shares_system);
    EXPECT_TRUE(users.tree_barrier);
    EXPECT_EQ(users.for_ns, 600'000'000'000);
    EXPECT_EQ(users.drain(), 0);
    EXPECT_EQ(users.failures.rule, FailureRule::retry);
    EXPECT_EQ(users.failures.retries_max, 3u);
    EXPECT_TRUE(users.failures.waits_for_429);
    EXPECT_EQ(users.idle.tree_ns, 300'000'000'000);
    EXPECT_EQ(users.idle.system_ns, 10'000'000'000);
    EXPECT_EQ(users.start.from, 0.25);
    EXPECT_EQ(users.start.to, 0.75);
    EXPECT_TRUE(users.start.by_turns);
    EXPECT_TRUE(users.start.prime_one_token);
    EXPECT_EQ(users.start.warmup_requests, 10u);
    EXPECT_EQ(users.start.gap_cap_ns, 60'000'000'000);
    EXPECT_EQ(users.seed, 9u);
    EXPECT_EQ(users_with({"--user-ramp", "30s"}).users.ramp_ns, 30'000'000'000);
}

// --gap none leaves nothing between a place and what follows, either.
TEST(UserOptions, BoundTheWarmStartByTheGaps) {
    EXPECT_EQ(users_with({"--gap", "none"}).users.start.gap_cap_ns, 0);
    EXPECT_EQ(users_with({"--gap", "start-to-start"}).users.start.gap_cap_ns, std::nullopt);
}

// `--on-failure` and `--on-429` hold beside each other, in any order.
TEST(UserOptions, KeepBothFailureRules) {
    for (const Words& flags : {Words{"--on-429", "wait", "--on-failure", "continue"},
                               Words{"--on-failure", "continue", "--on-429", "wait"}}) {
        const FailureRules rules = users_with(flags).users.failures;
        EXPECT_EQ(rules.rule, FailureRule::go_on);
        EXPECT_TRUE(rules.waits_for_429);
    }
}

// What shapes users is nothing without them.
TEST(UserOptions, AreNothingWithoutUsers) {
    const std::vector<std::pair<Words, std::string>> flags = {
        {{"--user-ramp", "5s"}, "--user-ramp"},
        {{"--session-order", "shuffle"}, "--session-order"},
        {{"--recycle"}, "--recycle"},
        {{"--recycle-share", "system"}, "--recycle-share"},
        {{"--barrier", "tree"}, "--barrier"},
        {{"--for", "5s"}, "--for"},
        {{"--on-failure", "end-tree"}, "--on-failure"},
        {{"--on-failure", "continue"}, "--on-failure"},
        {{"--on-429", "wait"}, "--on-429 wait"},
        {{"--tree-idle-cap", "0"}, "--tree-idle-cap"},
        {{"--system-idle-cap", "0"}, "--system-idle-cap"},
        {{"--start-within", "0:0"}, "--start-within"},
        {{"--start-by", "turns"}, "--start-by"},
        {{"--prime", "one-token"}, "--prime"},
        {{"--warmup-requests", "1"}, "--warmup-requests"},
    };
    for (const auto& [words, name] : flags) {
        EXPECT_TRUE(says(refusal_with(words), name + " applies to users; add --users N")) << name;
        Words closed = words;
        closed.insert(closed.end(), {"--sessions", "closed"});
        EXPECT_TRUE(says(refusal_with(closed), "add --users N")) << name;
    }
    EXPECT_TRUE(says(refusal_with({"--drain", "5s"}), "add --for T"));
}

// As many as begin, and as many as there may be.
TEST(UserOptions, MayBecomeMore) {
    const WorkloadFlags workload =
        options_with({"--users", "2..9", "--grow", "ttft:p95:2s"}).workload;
    EXPECT_EQ(workload.users.users, 9u);
    EXPECT_EQ(workload.users.first(), 2u);
    ASSERT_TRUE(workload.grow);
    EXPECT_EQ(workload.grow->users_first, 2u);
    EXPECT_EQ(workload.grow->users_max, 9u);
    EXPECT_EQ(users_with({}).users.first(), 4u);
    EXPECT_TRUE(says(refusal_with({"--users", "2..9"}), "needs --grow METRIC:LIMIT; add it"));
    EXPECT_TRUE(says(refusal_of_users({"--grow", "ttft:2s"}), "as in --users 2..64"));
    EXPECT_TRUE(says(refusal_with({"--grow", "ttft:2s"}), "as in --users 2..64"));
    const Words grown{"--users", "2..9", "--grow", "ttft:2s"};
    Words blind = grown;
    blind.insert(blind.end(), {"--period", "none"});
    EXPECT_TRUE(says(refusal_with(blind), "--period none disables them; remove one"));
    Words whole = grown;
    whole.emplace_back("--no-stream");
    EXPECT_TRUE(says(refusal_with(whole), "--no-stream has none; remove one"));
}

// Each in one line.
TEST(UserOptions, RefuseContradictions) {
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"--sessions", "open"},
         "--users replays closed sessions, but --sessions open does not wait for answers; remove "
         "one"},
        {{"--recycle"}, "--recycle repeats the trace without end; add --for T to end the run"},
        {{"--recycle-share", "system"},
         "--recycle-share applies to passes, but the trace is replayed only once; add --recycle"},
        {{"--for", "5s", "--user-ramp", "5s"}, "--user-ramp is not shorter than --for; shorten it"},
        {{"--for", "5s", "--user-ramp", "6s"}, "--user-ramp is not shorter than --for; shorten it"},
        {{"--drain", "5s"}, "--drain is the time after the end of --for; add --for T"},
        {{"--start-by", "turns"},
         "--start-by applies to trees that begin inside their recordings; add --start-within A:B"},
        {{"--prime", "one-token"},
         "--prime applies to trees that begin inside their recordings; add --start-within A:B"},
        {{"--prime", "one-token", "--start-within", "0:0"}, "add --start-within A:B"},
        {{"--start-within", "0:1", "--user-ramp", "5s"},
         "--start-within starts the measurement for all users at once, but --user-ramp spreads the "
         "starts; remove one"},
        {{"--warmup-requests", "1", "--user-ramp", "5s"},
         "--warmup-requests starts the measurement for all users at once, but --user-ramp spreads "
         "the starts; remove one"},
        {{"--warmup-requests", "1", "--output", "free"},
         "--warmup-requests asks for one token, but --output free asks for no length; remove one"},
        {{"--prime", "one-token", "--start-within", "0:1", "--output", "free"},
         "--prime one-token asks for one token, but --output free asks for no length; remove one"},
        {{"--gap", "none", "--gap-cap", "5s"},
         "--gap none leaves no gaps for --gap-cap to shorten; remove one"},
    };
    for (const auto& [flags, remedy] : cases) {
        const std::string text = refusal_of_users(flags);
        EXPECT_TRUE(says(text, remedy)) << text;
        EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0) << text;
    }
}

// What stands just beside a contradiction is taken.
TEST(UserOptions, TakeWhatDoesNotContradict) {
    EXPECT_EQ(users_with({"--for", "5s", "--user-ramp", "4.999999999s"}).users.ramp_ns,
              4'999'999'999);
    EXPECT_TRUE(users_with({"--start-within", "0:1", "--output", "free"}).users.start.is_inside());
    EXPECT_FALSE(users_with({"--start-within", "0:0", "--user-ramp", "5s"}).users.start.warms_up());
    EXPECT_EQ(users_with({"--sessions", "closed"}).files.sessions, Sessions::closed);
    EXPECT_EQ(users_with({"--start-by", "timeline", "--prime", "exact", "--on-429", "record"})
                  .users.users,
              4u);
}

// A value that means nothing is refused with its flag and what may stand there.
TEST(UserOptions, RefuseValues) {
    EXPECT_TRUE(says(refusal_of_users({"--session-order", "random"}),
                     "--session-order \"random\" is not one of file, shuffle"));
    EXPECT_TRUE(says(refusal_of_users({"--on-failure", "retry:31"}),
                     "--on-failure \"retry:31\" is not one of end-tree, continue, or retry:N"));
    EXPECT_TRUE(says(refusal_of_users({"--on-429", "drop"}),
                     "--on-429 \"drop\" is not one of record, wait"));
    EXPECT_TRUE(says(refusal_of_users({"--start-within", "0.9:0.1"}),
                     "--start-within \"0.9:0.1\" is not two shares of a recording"));
    EXPECT_TRUE(says(refusal_of_users({"--for", "0s"}), "--for \"0s\""));
    EXPECT_TRUE(says(refusal_with({"--users", "0"}), "--users \"0\""));
    EXPECT_TRUE(says(refusal_with({"--users", "-1"}), "--users \"-1\""));
}

}  // namespace
}  // namespace driftless
