// Corpus: which runs may stand in one table. What differs on purpose is accepted, other work is
// refused with the reason, and what a sweep varied is excused, but for trace and window.
#include "cmd/compare/table/corpus.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cmd/compare/table/made_run.hpp"

namespace driftless {
namespace {

/// What is said of the second of two runs, or the empty text.
std::string second(TableRun a, TableRun b) {
    const std::vector<std::string> all = corpus_differences(list_of(std::move(a), std::move(b)));
    EXPECT_LE(all.size(), 1U);
    return all.empty() ? "" : all[0];
}

std::string against_usual(const MadeSummary& made) {
    return second(made_run("a"), made_run("b", made));
}

MadeSummary with_run(const std::string& members) {
    MadeSummary made;
    made.run = members;
    return made;
}

MadeSummary with_members(const std::string& members) {
    MadeSummary made;
    made.members = members;
    return made;
}

TEST(Corpus, PaceUsersServerAndSaltMayDiffer) {
    for (const char* members :
         {R"("speed":"4","schedule_digest":"0c",)", R"("rate":"10","schedule_digest":"0c",)",
          R"("users":8,"schedule_digest":"0c",)", R"("urls":["http://b:2"],)",
          R"("cache_salt":"x",)", R"("spread":true,"schedule_digest":"0c",)"}) {
        EXPECT_EQ(against_usual(with_run(members)), "") << members;
    }
    EXPECT_EQ(against_usual(with_members(R"("model_id":"other",)")), "");
    EXPECT_EQ(against_usual(with_members(R"("max_concurrency":4,)")), "");
}

TEST(Corpus, CopiesMayDifferAndHaveOtherRows) {
    EXPECT_EQ(against_usual(with_run(R"("rows":480,"arguments":["t.jsonl","--replicate=2"],)")),
              "");
}

TEST(Corpus, OtherTraceWindowOrSeedIsRefused) {
    EXPECT_EQ(against_usual(with_run(R"("trace_digest":"00000000000000ab",)")),
              R"(runs/b: trace is "00000000000000ab", not "00000000000000aa")");
    EXPECT_EQ(against_usual(with_run(R"("end_ns":60000000000,)")),
              "runs/b: --end is 60000000000 ns, not none");
    EXPECT_EQ(against_usual(with_run(R"("limit":100,"rows":100,)")),
              R"(runs/b: --limit is "100", not none)");
    EXPECT_EQ(against_usual(with_run(R"("seed":7,)")), R"(runs/b: --seed is "7", not "0")");
    EXPECT_EQ(against_usual(with_run(R"("output":"free",)")),
              R"(runs/b: --output is "free", not "exact")");
    EXPECT_EQ(against_usual(with_run(R"("arguments":["t.jsonl","--sample-sessions=0.5"],)")),
              R"(runs/b: --sample-sessions is "0.5", not none)");
}

TEST(Corpus, OtherRowsOfTheSameFlagsAreRefused) {
    EXPECT_EQ(against_usual(with_run(R"("rows":120,"speed":"2",)")),
              "runs/b: it plays 120 rows, not 240");
    const MadeSummary slow = with_run(R"("duration_ns":5,)");
    const MadeSummary fast = with_run(R"("duration_ns":5,"rows":480,"speed":"2",)");
    EXPECT_EQ(second(made_run("a", slow), made_run("b", fast)),
              "runs/b: it plays 480 rows, not 240 (--duration counts wall time, so it selects "
              "other rows at another speed or rate; use --start and --end, or --limit)");
}

TEST(Corpus, DigestsMustFitTheFlags) {
    EXPECT_EQ(against_usual(with_run(R"("schedule_digest":"00000000000000cc",)")),
              "runs/b: its schedule (digest 00000000000000cc) is not 00000000000000bb, though it "
              "has the same pace");
    TableRun a = made_run("a");
    TableRun b = made_run("b");
    a.prompts_digest = "01";
    b.prompts_digest = "02";
    EXPECT_EQ(second(std::move(a), std::move(b)),
              "runs/b: its prompts (digest 02) are not 01, though seed and salt are the same");
    TableRun plain = made_run("a");
    TableRun salted = made_run("b", with_run(R"("cache_salt":"x",)"));
    plain.prompts_digest = "01";
    salted.prompts_digest = "02";
    EXPECT_EQ(second(std::move(plain), std::move(salted)), "");
}

TEST(Corpus, ASweepMayVaryWhatItLikesButTraceAndWindow) {
    const MadeSummary one = with_run(R"("arguments":["t.jsonl","--max-trees=5"],"rows":20,)");
    const MadeSummary two = with_run(R"("arguments":["t.jsonl","--max-trees=9"],"rows":40,)");
    EXPECT_EQ(second(made_cell("01", {{"max-trees", "5"}}, one),
                     made_cell("02", {{"max-trees", "9"}}, two)),
              "");
    EXPECT_EQ(second(made_run("a", one), made_run("b", two)),
              R"(runs/b: --max-trees is "9", not "5")");
    EXPECT_EQ(second(made_cell("01", {{"limit", "5"}}, with_run(R"("limit":5,)")),
                     made_cell("02", {{"limit", "9"}}, with_run(R"("limit":9,)"))),
              R"(sweeps/s/02: --limit is "9", not "5")");
}

TEST(Corpus, RunsThatDoNotSayWhatTheyPlayed) {
    TableRun silent = made_run("b");
    silent.corpus.clear();
    EXPECT_EQ(second(made_run("a"), std::move(silent)),
              "runs/b: its summary.json does not say what it played");
    TableRun cell = made_cell("02", {{"speed", "2"}});
    cell.corpus.clear();
    EXPECT_EQ(second(made_cell("01", {{"speed", "1"}}), std::move(cell)), "");
    const MadeSummary nameless = with_run(R"("trace_digest":null,)");
    EXPECT_EQ(corpus_differences(list_of(made_run("a", nameless), made_run("b", nameless))),
              (std::vector<std::string>{"runs/a: it does not say which trace it played",
                                        "runs/b: it does not say which trace it played"}));
}

TEST(Corpus, ARunWithoutSummaryIsNotAsked) {
    TableRun killed;
    killed.folder = "runs/k";
    EXPECT_TRUE(corpus_differences(list_of(std::move(killed), made_run("a"))).empty());
}

}  // namespace
}  // namespace driftless
