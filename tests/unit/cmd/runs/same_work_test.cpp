// Whether runs played the same work: what is refused, what is told, and what explains what.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/flags/settings.hpp"
#include "cmd/runs/compare.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

PlayedRun played(const std::string& folder) {
    PlayedRun run;
    run.folder = folder;
    run.facts.rows = 10;
    run.facts.trace_digest = 1;
    run.facts.schedule_digest = 2;
    run.facts.prompts_digest = 3;
    run.facts.ended = true;
    run.facts.rules.expected_cached_tokens = 0;  // it is not recorded text
    run.facts.info.run.output = "exact";
    return run;
}

std::vector<std::string> names_of(const std::vector<WorkDifference>& differences) {
    return members_of(differences, &WorkDifference::what);
}

using Names = std::vector<std::string>;

TEST(SameWork, HasNoDifferences) {
    EXPECT_TRUE(work_differences({played("a")}, {played("b")}).empty());
    EXPECT_EQ(heaviest({}), Weight::told);
}

TEST(SameWork, NamesBothValuesAndTheRemedy) {
    PlayedRun other = played("b");
    other.facts.seed = 7;
    const std::vector<WorkDifference> found = work_differences({played("a")}, {other});
    ASSERT_EQ(names_of(found), Names{"seed"});
    EXPECT_EQ(found[0].a, "0");
    EXPECT_EQ(found[0].b, "7");
    EXPECT_EQ(found[0].run, "b");
    EXPECT_EQ(found[0].weight, Weight::refused);
    EXPECT_FALSE(found[0].remedy.empty());
}

TEST(SameWork, AnotherTraceIsNeverTheSame) {
    PlayedRun other = played("b");
    other.facts.trace_digest = 9;
    other.facts.schedule_digest = 9;  // explained by the trace
    other.facts.prompts_digest = 9;
    const std::vector<WorkDifference> found = work_differences({played("a")}, {other});
    EXPECT_EQ(names_of(found), Names{"trace"});
    EXPECT_EQ(heaviest(found), Weight::no_pairs);
}

TEST(SameWork, DigestsThatNothingExplains) {
    PlayedRun other = played("b");
    other.facts.schedule_digest = 9;
    other.facts.prompts_digest = 9;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})),
              (Names{"due instants", "prompt digests"}));
    other.facts.prompts_digest.reset();  // it was cut short: what prompts are made of is equal
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"due instants"});
}

TEST(SameWork, WhatWasNotPlayedToItsEnd) {
    PlayedRun other = played("b");
    other.counts.unplayed = 4;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"completeness"});
    other.counts.unplayed = 0;
    other.facts.has_users = other.killed = true;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"completeness"});
    other = played("b");
    other.counts.interrupted = 3;  // resumed since, and complete but for these
    const auto lost = work_differences({played("a")}, {other});
    EXPECT_EQ(names_of(lost), Names{"completeness"});
    EXPECT_TRUE(says(lost.front().remedy, "--from"));
    other = played("b");
    other.goes_on = true;
    EXPECT_EQ(work_differences({played("a")}, {other}).front().b, "is still running");
}

TEST(SameWork, RepeatsMayHaveSaltsOfTheirOwn) {
    std::vector<PlayedRun> a{played("a1"), played("a2")};
    std::vector<PlayedRun> b{played("b1"), played("b2")};
    a[0].facts.cache_salt = b[1].facts.cache_salt = "x";
    a[1].facts.cache_salt = b[0].facts.cache_salt = "y";
    a[0].facts.prompts_digest = b[1].facts.prompts_digest = 8;
    EXPECT_TRUE(work_differences(a, b).empty());
    b[1].facts.cache_salt = "z";
    const std::vector<WorkDifference> found = work_differences(a, b);
    ASSERT_EQ(names_of(found), Names{"cache salt"});
    EXPECT_EQ(found[0].a, "x, y");
    EXPECT_EQ(found[0].b, "y, z");
}

TEST(SameWork, ServersAndSettingsAreTold) {
    PlayedRun other = played("b");
    other.facts.info.model_id = "larger";
    other.facts.arguments = {"trace.jsonl", "--url=http://b", "--max-inflight=8"};
    PlayedRun first = played("a");
    first.facts.arguments = {"trace.jsonl", "--url=http://a"};
    const std::vector<WorkDifference> found = work_differences({first}, {other});
    EXPECT_EQ(names_of(found), (Names{"model", "settings"}));
    EXPECT_EQ(found[1].b, "--max-inflight=8");
    EXPECT_EQ(heaviest(found), Weight::told);
}

TEST(SameWork, SettingsAreThoseOfOneSideAlone) {
    const auto [a, b] = differing_settings({"t", "--timeout-idle=5s", "--header=A: b", "--seed=1"},
                                           {"t", "--header=A: b", "--seed=2"});
    EXPECT_EQ(a, "--timeout-idle=5s");
    EXPECT_EQ(b, "");
}

}  // namespace
}  // namespace driftless
