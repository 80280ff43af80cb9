// A rule set fills in what the user left out; what it locks cannot be given otherwise.
#include "cmd/replay/flags/rule_flags.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cmd/replay/flags/parse_flags.hpp"

namespace driftless {
namespace {

TEST(RuleFlags, SetsWhatTheUserLeftOut) {
    const ReplayOptions options = options_with({"--rules", "agentx", "--users", "8"});
    const UserRules& users = options.workload.users;
    EXPECT_TRUE(users.recycle);
    EXPECT_TRUE(users.tree_barrier);
    EXPECT_EQ(users.for_ns, 3'600'000'000'000);
    EXPECT_EQ(users.start.from, 0.25);
    EXPECT_EQ(users.start.to, 0.75);
    EXPECT_EQ(users.start.warmup_requests, 10U);
    EXPECT_EQ(users.idle.tree_ns, 300'000'000'000);
    EXPECT_EQ(users.idle.system_ns, 10'000'000'000);
    EXPECT_EQ(options.workload.plan.seed, 42U);
    EXPECT_EQ(options.workload.load.admission.trees_max, 393U);
    EXPECT_EQ(options.rules.chosen.sets.size(), 1U);
}

TEST(RuleFlags, LeavesWhatTheUserGave) {
    const ReplayCommandLine line =
        parse_flags({"--rules=agentx", "--users=8", "--for=20m", "--seed", "7"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.for_ns, 1'200'000'000'000);
    EXPECT_EQ(line.options.workload.plan.seed, 7U);
    ASSERT_FALSE(line.notes.empty());
    EXPECT_TRUE(line.notes.back().starts_with("--rules agentx (agentx-v1.0.5) sets --recycle "))
        << line.notes.back();
}

TEST(RuleFlags, RefusesWhatALockForbids) {
    const std::string twenty =
        refusal_with({"--rules", "agentx", "--users", "8", "--system-idle-cap", "20s"});
    EXPECT_TRUE(says(twenty, "--rules agentx: --system-idle-cap is 10s in these rules, not 20s"))
        << twenty;
    EXPECT_EQ(parse_flags({"--rules", "agentx", "--users", "8", "--system-idle-cap", "10"}).kind,
              ReplayCommandLine::Kind::run)
        << "the same, written otherwise";
    EXPECT_TRUE(says(refusal_with({"--rules", "agentx", "--users", "8", "--gap-cap", "9"}),
                     "--gap-cap is not allowed"));
    EXPECT_TRUE(says(refusal_with({"--rules", "agentx", "--users", "8", "--no-stream"}),
                     "--no-stream is not allowed"));
    EXPECT_TRUE(says(refusal_with({"--rules", "agentx"}), "--rules agentx: needs --users"));
    EXPECT_TRUE(says(refusal_with({"--rules", "nothing"}), "is not one of agentx-mvp"));
}

// Two sets that fix different values leave no choice that meets both.
TEST(RuleFlags, RefusesSetsThatContradict) {
    const std::string why = refusal_with({"--rules", "agentx,inferencex-993", "--users", "8"});
    EXPECT_TRUE(says(why, "there and ")) << why;
    EXPECT_TRUE(says(why, "give the flag yourself, or use only one set")) << why;
}

// Behind "--" stand traces.
TEST(RuleFlags, AddsFlagsInFront) {
    Words arguments{"--rules", "mlperf-agentic", "--users", "2", "--", "-trace"};
    Words notes;
    RuleSets sets;
    EXPECT_EQ(apply_rules(arguments, notes, sets), "");
    EXPECT_EQ(arguments.back(), "-trace");
    EXPECT_EQ(arguments.front(), "--gap");
    EXPECT_EQ(notes.size(), 1U);
}

// An earlier run has flags of its own: rules are applied when they are known.
TEST(RuleFlags, WaitForTheFlagsOfAnEarlierRun) {
    const ReplayCommandLine line = parse_replay_options({"--from", "r", "--rules", "agentx"}, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.arguments, (Words{"--rules=agentx", "--from=r"}));
}

}  // namespace
}  // namespace driftless
