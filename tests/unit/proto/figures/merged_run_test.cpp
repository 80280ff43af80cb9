// The verdict of a merged run is that of its worst shard; what is missing and clocks that are not
// known well enough stand above every certificate.
#include <gtest/gtest.h>

#include "proto/figures/breakdowns.hpp"
#include "proto/figures/verdict.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

constexpr std::int64_t ms = 1'000'000;

MergedRun run_of(std::uint32_t count) {
    MergedRun run{.count = count, .rows = 100 * count, .clock_error_max_ns = ms};
    for (std::uint32_t i = 0; i < count; ++i) {
        MergedShard& shard = run.shards.emplace_back();
        shard.index = i;
        shard.folder = "runs/" + std::to_string(i);
        shard.rows = 100;
        shard.verdict = "certified";
        shard.clock = ShardClock{0, ms / 10};
    }
    return run;
}

void lose(MergedRun& run, std::size_t index) {
    run.shards[index] = MergedShard{};
    run.shards[index].index = static_cast<std::uint32_t>(index);
    run.rows_missing += 100;
}

std::string verdict_of(const MergedRun& run) {
    const Judgement judged = judge_merged(run, {}, {});
    EXPECT_FALSE(judged.reasons.empty());
    return name_of(judged.verdict);
}

TEST(MergedRun, AllCertified) {
    EXPECT_EQ(verdict_of(run_of(1)), "certified");
    EXPECT_EQ(verdict_of(run_of(8)), "certified");
    EXPECT_TRUE(merged_warnings(run_of(8)).empty());
}

TEST(MergedRun, TheWorstShard) {
    MergedRun run = run_of(6);
    std::size_t place = 0;
    for (const char* const worse : {"certified-with-exclusions", "uncalibrated", "network-limited",
                                    "host-noisy", "client-limited"}) {
        run.shards[place++].verdict = worse;
        EXPECT_EQ(verdict_of(run), worse);
    }
    EXPECT_EQ(judge_merged(run, {}, {}).reasons.size(), 5U);
    // What is no verdict certifies nothing.
    MergedRun odd = run_of(2);
    odd.shards[1].verdict = "splendid";
    EXPECT_EQ(verdict_of(odd), "client-limited");
}

// They did not put their load on the servers together.
TEST(MergedRun, LoadThatCameLaterOrStopped) {
    MergedRun later = run_of(2);
    later.shards[1].rows_later = 7;
    EXPECT_EQ(verdict_of(later), "client-limited");
    EXPECT_EQ(judge_merged(later, {}, {}).reasons[0],
              "7 rows of shard 1 of 2 came later (replay --resume), without the load of the other "
              "shards");
    MergedRun stopped = run_of(2);
    stopped.shards[0].interrupted = true;
    EXPECT_EQ(verdict_of(stopped), "client-limited");
    MergedRun alone = run_of(1);
    alone.shards[0].rows_later = 7;
    EXPECT_EQ(verdict_of(alone), "certified") << "as a run that is no shard";
}

TEST(MergedRun, AClientThatContradictsTheCertificate) {
    ClientTotals dropped;
    dropped.dropped_entries = 3;
    SummaryFigures figures;
    EXPECT_EQ(judge_merged(run_of(2), figures, dropped).verdict, Verdict::client_limited);
    figures.warmup_rows = 2;  // it may have been theirs, which are in no figure
    EXPECT_EQ(judge_merged(run_of(2), figures, dropped).verdict, Verdict::certified);
    ClientTotals busy;
    busy.busiest.load = busy.busiest.busy = 0.9;
    const Judgement judged = judge_merged(run_of(2), {}, busy);
    EXPECT_EQ(judged.verdict, Verdict::client_limited);
    EXPECT_TRUE(says(judged.reasons.back(), "which no shard's verdict says"));
}

TEST(MergedRun, RecordsThatContradictTheCertificate) {
    SummaryFigures figures;
    figures.tainted_rows = 1;
    EXPECT_EQ(judge_merged(run_of(2), figures, {}).verdict, Verdict::client_limited);
    MergedRun known = run_of(2);
    known.shards[0].verdict = "certified-with-exclusions";
    EXPECT_EQ(judge_merged(known, figures, {}).verdict, Verdict::certified_with_exclusions);
}

TEST(MergedRun, MissingRows) {
    MergedRun run = run_of(12);
    for (std::size_t i = 1; i < 12; ++i) {
        lose(run, i);
    }
    EXPECT_EQ(verdict_of(run), "client-limited");
    EXPECT_EQ(run.not_reported(), 1100U);
    EXPECT_FALSE(run.all_left_known());
    ASSERT_EQ(merged_warnings(run).size(), 1U);
    EXPECT_TRUE(says(merged_warnings(run)[0],
                     "shards 1, 2, 3, 4, 5, 6, 7, 8 and 3 more of 12 are missing: "
                     "1100 rows are not reported"));
}

TEST(MergedRun, AKilledShard) {
    MergedRun run = run_of(2);
    run.shards[1].ended = false;
    run.shards[1].not_reported = 1;
    EXPECT_EQ(verdict_of(run), "client-limited");
    ASSERT_EQ(merged_warnings(run).size(), 1U);
    EXPECT_TRUE(says(merged_warnings(run)[0], "replay --resume runs/1"));
    EXPECT_TRUE(run.all_left_known());
}

TEST(MergedRun, ClocksAtTheirLimit) {
    MergedRun run = run_of(2);
    for (const auto& [error_ns, verdict] :
         {std::pair(ms - 1, "certified"), {ms, "certified"}, {ms + 1, "client-limited"}}) {
        run.shards[1].clock = ShardClock{0, error_ns};
        EXPECT_EQ(verdict_of(run), verdict) << error_ns;
    }
    run.shards[1].clock.reset();
    EXPECT_EQ(verdict_of(run), "uncalibrated");
    // One shard alone has nobody to be apart from.
    MergedRun one = run_of(1);
    one.shards[0].clock.reset();
    EXPECT_EQ(verdict_of(one), "certified");
}

TEST(MergedRun, TimesZero) {
    MergedRun run = run_of(3);
    lose(run, 0);
    run.shards[1].zero_utc_ns = 1'000 * ms;
    run.shards[2].zero_utc_ns = 1'000 * ms + 3 * ms;
    run.shards[2].clock->offset_ns = 2 * ms;
    EXPECT_FALSE(zero_difference(run, 0));
    EXPECT_EQ(zero_difference(run, 1)->ns, 0);
    EXPECT_EQ(zero_difference(run, 2)->ns, ms);
    EXPECT_EQ(zero_difference(run, 2)->error_ns, ms / 5);
    EXPECT_EQ(merged_warnings(run).size(), 2U);  // shard 0, and the difference
    run.shards[2].zero_utc_ns = 1'000 * ms + 2 * ms + ms / 5;
    EXPECT_EQ(merged_warnings(run).size(), 1U);
    run.shards[2].clock.reset();  // not known, not told
    EXPECT_EQ(zero_difference(run, 2)->error_ns, std::nullopt);
    EXPECT_EQ(merged_warnings(run).size(), 1U);
}

TEST(ByShard, CountsByShard) {
    ByShard shards;
    Record record;
    shards.add(record);  // of no shard
    EXPECT_TRUE(shards.figures().empty());
    record.outcome = Outcome::ok;
    record.due_ns = 10;
    for (const std::uint32_t shard : {3U, 1U, 3U}) {
        record.shard = shard;
        record.fired_ns = 10 + 5 * std::int64_t{shard};
        shards.add(record);
    }
    record.late_cause = LateCause::inflight;
    record.tainted = {"late"};
    shards.add(record);
    const std::vector<ShardFigures> figures = shards.figures();
    ASSERT_EQ(figures.size(), 2U);
    EXPECT_EQ(figures[0].index, 1U);
    EXPECT_EQ(figures[0].drift.max, 5);
    EXPECT_EQ(figures[1].records, 3U);
    EXPECT_EQ(figures[1].completed, 3U);
    EXPECT_EQ(figures[1].tainted, 1U);
    EXPECT_EQ(figures[1].drift.count, 2U);
}

}  // namespace
}  // namespace driftless
