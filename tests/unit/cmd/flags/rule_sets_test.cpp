// A rule set fills in what the user left out; what it locks cannot be given otherwise.

#include "cmd/flags/rule_sets.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cmd/flags/parse_flags.hpp"

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
    EXPECT_TRUE(says(twenty, "--rules agentx: --system-idle-cap is 10s in these rules, not 20s"));
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
    EXPECT_TRUE(says(why, "there and "));
    EXPECT_TRUE(says(why, "give the flag yourself, or use only one set"));
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

// Rule sets are found by name without a path; a file that is wrong is refused by line and field.

std::string why(const std::string& text) {
    RuleSet set;
    return read_rule_set("name = \"n\"\nversion = \"v\"\nsource = \"s\"\n" + text, set);
}

TEST(RuleSets, ShipsFourThatAreRight) {
    std::vector<std::string> names;
    for (const ShippedRules& one : shipped_rules()) {
        names.emplace_back(one.name);
        RuleSet set;
        EXPECT_EQ(read_rule_set(one.text, set), "") << one.name;
        EXPECT_EQ(set.name, one.name);
        EXPECT_TRUE(says(set.source, " @")) << "a source has its commit";
        EXPECT_FALSE(set.version.empty());
        EXPECT_FALSE(set.flags.empty());
        EXPECT_FALSE(set.rules.empty());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"agentx-mvp", "agentx", "inferencex-993",
                                               "mlperf-agentic"}));
}

TEST(RuleSets, ReadsAFile) {
    RuleSet set;
    EXPECT_EQ(read_rule_set(R"(name = "mine"
version = "2"
source = "here"
commit = "abc"
[[flag]]
name = "--for"
value = "60s"
other = "refused"
why = "short"
[[rule]]
name = "errors"
measure = "error_share"
max = 0.01
published = false
[[rule]]
name = "corpus"
measure = "digest"
equals = "0123456789abcdef"
)",
                            set),
              "");
    EXPECT_EQ(set.source, "here @abc");
    ASSERT_EQ(set.flags.size(), 1U);
    EXPECT_EQ(set.flags[0].value, "60s");
    EXPECT_EQ(set.flags[0].other, OtherValue::refused);
    ASSERT_EQ(set.rules.size(), 2U);
    EXPECT_EQ(set.rules[0].measure, Measure::error_share);
    EXPECT_EQ(set.rules[0].max, 0.01);
    EXPECT_FALSE(set.rules[0].published);
    EXPECT_EQ(set.rules[1].equals, "0123456789abcdef");
}

TEST(RuleSets, SaysWhatIsWrongWithAFile) {
    RuleSet set;
    EXPECT_EQ(read_rule_set("version = \"1\"", set), "line 1: name is missing; add it");
    EXPECT_TRUE(why("[[flag]\n").starts_with("line 4: ")) << why("[[flag]\n");
    EXPECT_EQ(why("gate = 3\n"), "line 4: gate is not known; remove or correct it");
    EXPECT_EQ(why("rule = 3\n"), "line 4: rule is not written as [[rule]]");
    EXPECT_EQ(why("[[rule]]\nname = \"a\"\nmeasure = \"speed\"\n"),
              "line 4: [[rule]] measure \"speed\" is not known; driftless help rules.md lists all");
    EXPECT_EQ(why("[[rule]]\nname = \"a\"\nmeasure = \"rows\"\nmin = \"3\"\n"),
              "line 7: min is not a number");
    EXPECT_NE(why("[[rule]]\nname = \"a\"\nmeasure = \"rows\"\nequals = \"3\"\n"), "");
    EXPECT_NE(why("[[rule]]\nname = \"a\"\nmeasure = \"unchecked\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"gap\"\nvalue = \"1\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\nvalue = \"1\"\nabsent = true\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\nvalue = \"1\"\nother = \"maybe\"\n"), "");
    EXPECT_EQ(why("[[flag]]\nname = \"--gap\"\nabsent = 1\n"),
              "line 6: absent is not true or false");
}

TEST(RuleSets, FindsThemByNameOrFile) {
    RuleSets sets;
    EXPECT_EQ(add_rule_set("agentx", sets), "");
    EXPECT_NE(add_rule_set("agentx", sets), "") << "twice";
    EXPECT_EQ(add_rule_set("agentix", sets),
              "--rules \"agentix\" is not one of agentx-mvp, agentx, inferencex-993, "
              "mlperf-agentic, or a file (FILE.toml); did you mean agentx?");
    EXPECT_TRUE(
        add_rule_set("nowhere.toml", sets).starts_with("--rules nowhere.toml cannot be read: "));
    EXPECT_EQ(sets.sets.size(), 1U);
    EXPECT_EQ(sets.texts.size(), 1U);
    EXPECT_EQ(parts_of("a,b.toml"), (std::vector<std::string>{"a", "b.toml"}));
}

TEST(RuleSets, ValuesMayBeWrittenInSeveralWays) {
    EXPECT_TRUE(same_value("60", "1m"));
    EXPECT_TRUE(same_value("0:0.7", "0.0:0.70"));
    EXPECT_TRUE(same_value("none", "none"));
    EXPECT_FALSE(same_value("60", "61"));
    EXPECT_FALSE(same_value("0:0.7", "0.1:0.7"));
    EXPECT_FALSE(same_value("turns", "timeline"));
}

}  // namespace

}  // namespace driftless
