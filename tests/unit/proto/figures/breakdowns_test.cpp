// Figures of parts of a run, of runs that are merged, and caches that were warm.

#include "proto/figures/breakdowns.hpp"

#include "proto/figures/verdict.hpp"
#include "proto/figures/warm_cache.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// Six rows over two servers that count so many tokens more than the trace does.
std::string explanation(std::int64_t first_off, std::int64_t second_off) {
    Summary summary;
    for (std::uint32_t row = 0; row < 6; ++row) {
        Record record{.row = row, .fired_ns = 1000, .input_length = 100, .outcome = Outcome::ok};
        record.expected_cached_tokens = 0;  // it is not recorded text
        record.url = row % 2 == 0 ? "http://a" : "http://b";
        record.prompt_tokens = 100 + (row % 2 == 0 ? first_off : second_off);
        record.prompt_tokens_off = row % 2 == 0 ? first_off : second_off;
        summary.add(record);
    }
    return summary.figures().prompts.explanation;
}

// One of two servers adds 8 tokens to each prompt.
TEST(ByUrl, NamesTheUrlWhosePromptsAreOffUnlessAllAre) {
    const std::string text = explanation(0, 8);
    EXPECT_EQ(text.find("at http://b 3 of 3 prompts are off by up to +8 tokens, elsewhere none: "
                        "serve"),
              0u)
        << text;
    // All servers alike: the cause is that of all of them, and --overhead is its remedy.
    EXPECT_TRUE(says(explanation(8, 8), "--overhead"));
}

// The two sides of a run beside each other, by hand: what each did, and the differences of the rows
// that both have answered, by who went first.

Record answered(std::uint32_t row, Side side, std::int64_t fired_ns, std::int64_t ttft_ns) {
    return {.row = row,
            .side = side,
            .url = side == Side::a ? "http://a" : "http://b",
            .due_ns = 1000,
            .fired_ns = fired_ns,
            .drift_ns = fired_ns - 1000,
            .ttft_ns = ttft_ns,
            .tpot_ns = 7.5,
            .e2e_ns = 2 * ttft_ns,
            .expected_cached_tokens = 32,
            .cached_tokens = side == Side::a ? 32 : 16,
            .outcome = Outcome::ok};
}

std::vector<Record> some_records() {
    Record failed = answered(3, Side::b, 1100, 0);
    failed.outcome = Outcome::truncated;
    failed.ttft_ns.reset();
    failed.cached_tokens.reset();
    return {answered(0, Side::a, 1010, 500), answered(0, Side::b, 1020, 520),  // a first: +20
            answered(1, Side::a, 1030, 500), answered(1, Side::b, 1020, 540),  // b first: +40
            answered(2, Side::b, 1010, 400), answered(2, Side::a, 1040, 500),  // b first: -100
            answered(3, Side::a, 1000, 600), failed};
}

TEST(SideFigures, CountEachSideAndPairRows) {
    std::vector<Record> records = some_records();
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    for (int order = 0; order < 2; ++order) {  // of the records: it does not matter
        BySide sides;
        for (const Record& record : records) {
            sides.add(record);
        }
        const std::optional<SideFigures> figures = sides.figures();
        ASSERT_TRUE(figures);
        EXPECT_EQ(std::tuple(figures->a.url, figures->b.url), std::tuple("http://a", "http://b"));
        EXPECT_EQ(std::tuple(figures->a.requests, figures->b.requests), std::tuple(4u, 4u));
        EXPECT_EQ(std::tuple(figures->a.completed, figures->b.completed), std::tuple(4u, 3u));
        EXPECT_EQ(std::tuple(figures->a.failed, figures->b.failed), std::tuple(0u, 1u));
        EXPECT_EQ(std::tuple(figures->a.ttft.mean, figures->b.ttft.max), std::tuple(525, 540));
        EXPECT_EQ(std::tuple(figures->a.drift.max, figures->b.drift.max), std::tuple(40, 100));
        EXPECT_EQ(std::tuple(figures->b.cache_rows, figures->b.cached_tokens), std::tuple(3u, 48u));
        EXPECT_EQ(figures->b.expected_cached_tokens, 96u);
        EXPECT_EQ(figures->pairs.ttft.count, 3u);
        EXPECT_EQ(figures->pairs.ttft.median(), 20);
        EXPECT_EQ(figures->pairs.a_first.count, 1u);
        EXPECT_EQ(figures->pairs.a_first.mean, 20);
        EXPECT_EQ(figures->pairs.b_first.count, 2u);
        EXPECT_EQ(figures->pairs.b_first.mean, -30);
        EXPECT_EQ(figures->pairs.unpaired, 1u);
        std::reverse(records.begin(), records.end());
    }
}

// Of a run that was killed: one side of a row has a record, the other has none yet.
TEST(SideFigures, RowsOfOneSideAreUnpairedAndWishesLeftOut) {
    BySide sides;
    sides.add(answered(5, Side::b, 1010, 500));
    EXPECT_EQ(sides.figures()->pairs.unpaired, 1u);
    EXPECT_EQ(sides.figures()->pairs.ttft.count, 0u);
    EXPECT_EQ(sides.figures()->a.requests, 0u);
    BySide other_sides;
    other_sides.add(answered(5, Side::none, 1010, 500));
    EXPECT_FALSE(other_sides.figures());
    // A drift that the user asked for is not told of.
    Record held = answered(1, Side::a, 9'000, 500);
    held.late_cause = LateCause::inflight;
    BySide third_sides;
    third_sides.add(held);
    EXPECT_EQ(third_sides.figures()->a.drift.count, 0u);
}

// Durations, answers and gaps of trees that are worked out by hand.

constexpr std::int64_t second = 1'000'000'000;

Record turn_of(const char* tree, std::uint32_t row, std::int64_t from_s, std::int64_t to_s) {
    return {.row = row,
            .session = tree,
            .tree = tree,
            .fired_ns = from_s * second,
            .ended_ns = to_s * second,
            .prompt_tokens = 100,
            .cached_tokens = 40,
            .output_tokens = 10,
            .outcome = Outcome::ok};
}

TEST(TreeFigures, OfOneTreeAndOnlyFinishedOnes) {
    TreeFigures trees;
    trees.add(turn_of("a", 0, 0, 10));
    trees.add(turn_of("a", 2, 8, 12));   // beside it: an agent
    trees.add(turn_of("a", 1, 15, 20));  // after a gap of 3 s
    const TreeTotals totals = trees.totals(1800 * second);
    EXPECT_EQ(std::tuple(totals.trees, totals.finished), std::tuple(1U, 1U));
    EXPECT_EQ(std::tuple(totals.duration_s.max, totals.answer_s.max), std::tuple(20, 17));
    EXPECT_EQ(std::tuple(totals.gap_s.max, totals.turns.max), std::tuple(3, 3));
    EXPECT_EQ(std::tuple(totals.computed.max, totals.cached.max), std::tuple(180, 120));
    EXPECT_EQ(std::tuple(totals.output.max, totals.jobs_per_hour), std::tuple(30, 2));
    EXPECT_FALSE(totals.jobs_per_hour_per_user.has_value());
    TreeFigures other_trees;
    other_trees.add(turn_of("good", 0, 0, 1));
    other_trees.add(turn_of("bad", 1, 0, 1));
    Record failed = turn_of("bad", 2, 2, 3);
    failed.outcome = Outcome::http_5xx;
    other_trees.add(failed);
    Record cut = turn_of("cut", 3, 0, 1);
    cut.outcome = Outcome::cancelled;
    cut.censored = true;
    other_trees.add(cut);
    other_trees.add({.row = 5, .session = "waits"});
    Record alone = turn_of("x", 6, 0, 1);
    alone.session.reset();
    alone.tree.reset();
    other_trees.add(alone);
    Record warm = turn_of("warm", 7, 0, 1);
    warm.phase = Phase::warmup;
    other_trees.add(warm);
    const TreeTotals other_totals = other_trees.totals(3600 * second);
    EXPECT_EQ(std::tuple(other_totals.trees, other_totals.finished, other_totals.failed),
              std::tuple(4U, 1U, 1U));
    EXPECT_EQ(std::tuple(other_totals.unfinished, other_totals.rows_alone), std::tuple(2U, 1U));
    EXPECT_EQ(other_totals.jobs_per_hour, 1);
}

// It failed once, was sent again, and is a job all the same.
TEST(TreeFigures, CountTheLastTryAndTreesOfEachUser) {
    TreeFigures trees;
    Record failed = turn_of("a", 0, 0, 1);
    failed.outcome = Outcome::http_5xx;
    trees.add(failed);
    Record again = turn_of("a", 0, 2, 3);
    again.attempt = 1;
    trees.add(again);
    EXPECT_EQ(trees.totals(second).finished, 1U);
    EXPECT_EQ(trees.totals(second).turns.max, 1);
    // Passes and users are trees of their own; the jobs of all users are shared out among them.
    TreeFigures other_trees;
    for (std::uint32_t user = 0; user < 4; ++user) {
        for (std::uint32_t pass = 0; pass < 2; ++pass) {
            Record record = turn_of("a", 0, 2 * pass, 2 * pass + 1);
            record.user = user;
            record.pass = pass;
            record.cached_tokens.reset();
            other_trees.add(record);
        }
    }
    const TreeTotals totals = other_trees.totals(3600 * second);
    EXPECT_EQ(std::tuple(totals.finished, totals.users), std::tuple(8U, 4U));
    EXPECT_EQ(totals.jobs_per_hour_per_user, 2);
    EXPECT_EQ(totals.computed.count, 0U) << "no server told what it had computed";
    EXPECT_FALSE(TreeFigures().totals(0).jobs_per_hour.has_value());
}

// The verdict of a merged run is that of all its rows; what is missing and clocks that are not
// known well enough stand above every certificate.

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

std::string verdict_of(const MergedRun& run, Verdict of_rows = Verdict::certified) {
    const Judgement judged = judge_merged(run, {of_rows, {"of all rows"}});
    EXPECT_FALSE(judged.reasons.empty());
    return name_of(judged.verdict);
}

TEST(MergedRun, AllRowsBeforeTheirParts) {
    EXPECT_EQ(verdict_of(run_of(1)), "certified");
    EXPECT_EQ(verdict_of(run_of(8)), "certified");
    EXPECT_TRUE(merged_warnings(run_of(8)).empty());
    // A shard's own verdict is told, and decides where all rows together cannot be judged; and who
    // was too slow, where somebody was: their seconds are not told apart by shard.
    MergedRun run = run_of(6);
    std::size_t place = 0;
    for (const char* const worse : {"certified-with-exclusions", "uncalibrated", "network-limited",
                                    "host-noisy", "client-limited"}) {
        run.shards[place++].verdict = worse;
        EXPECT_EQ(verdict_of(run), "certified");
        EXPECT_EQ(verdict_of(run, Verdict::uncalibrated), place < 3 ? "uncalibrated" : worse);
        for (const Verdict of_rows : {Verdict::network_limited, Verdict::client_limited}) {
            EXPECT_EQ(verdict_of(run, of_rows), place < 3 ? name_of(of_rows) : worse);
        }
    }
    const Judgement judged = judge_merged(run, {Verdict::certified, {"of all rows"}});
    EXPECT_EQ(std::tuple(judged.reasons.size(), judged.reasons.front(), judged.reasons.back()),
              std::tuple(7U, "of all rows", "shard 4 of 6 is client-limited"));
    MergedRun noisy = run_of(2);
    noisy.shards[1].verdict = "host-noisy";
    noisy.shards[1].reasons = {"3 % of the rows"};
    const Judgement blamed = judge_merged(
        noisy, {Verdict::client_limited, {"2 % of the rows", "at that time engine 0 was stopped"}});
    EXPECT_EQ(blamed.verdict, Verdict::host_noisy);
    EXPECT_EQ(blamed.reasons.front(), "2 % of the rows");
    EXPECT_EQ(blamed.reasons.back(), "shard 1 of 2 is host-noisy: 3 % of the rows");
    for (const std::string& one : blamed.reasons) {
        EXPECT_FALSE(one.starts_with("at that time")) << "of which shard?";
    }
    // What is no verdict certifies nothing.
    MergedRun odd = run_of(2);
    odd.shards[1].verdict = "splendid";
    EXPECT_EQ(verdict_of(odd, Verdict::uncalibrated), "client-limited");
}

// They did not put their load on the servers together.
TEST(MergedRun, LoadAndRowsThatWereNotThere) {
    MergedRun later = run_of(2);
    later.shards[1].rows_later = 7;
    EXPECT_EQ(verdict_of(later), "client-limited");
    EXPECT_EQ(judge_merged(later, {Verdict::certified, {}}).reasons[0],
              "7 rows of shard 1 of 2 came later (replay --resume), without the load of the other "
              "shards");
    MergedRun stopped = run_of(2);
    stopped.shards[0].interrupted = true;
    EXPECT_EQ(verdict_of(stopped), "client-limited");
    MergedRun alone = run_of(1);
    alone.shards[0].rows_later = 7;
    EXPECT_EQ(verdict_of(alone), "certified") << "as a run that is no shard";
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
    run = run_of(2);
    run.shards[1].ended = false;
    run.shards[1].not_reported = 1;
    EXPECT_EQ(verdict_of(run), "client-limited");
    ASSERT_EQ(merged_warnings(run).size(), 1U);
    EXPECT_TRUE(says(merged_warnings(run)[0], "replay --resume runs/1"));
    EXPECT_TRUE(run.all_left_known());
}

TEST(MergedRun, ClocksAtTheirLimitAndTimesZero) {
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
    run = run_of(3);
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
    EXPECT_EQ(std::tuple(figures[0].index, figures[0].drift.max), std::tuple(1U, 5));
    EXPECT_EQ(std::tuple(figures[1].records, figures[1].completed), std::tuple(3U, 3U));
    EXPECT_EQ(std::tuple(figures[1].tainted, figures[1].drift.count), std::tuple(1U, 2U));
}

// Hits that no row before can have left show a warm cache, also where evictions hide them in the
// sum; rows that overtook each other do not.

/// Fired at `fired_ms`, first token 10 ms later, in blocks of the server's.
Record row(std::uint32_t number, std::int64_t fired_ms, std::int64_t forecast,
           std::int64_t cached) {
    return {.row = number,
            .fired_ns = fired_ms * ms,
            .first_token_ns = (fired_ms + 10) * ms,
            .expected_cached_server = forecast,
            .cached_tokens = cached};
}

std::uint64_t excess(const std::vector<Record>& records, std::uint64_t template_pre = 0) {
    CacheExcess all;
    for (auto record = records.rbegin(); record != records.rend(); ++record) {  // in any order
        all.add(*record, template_pre);
    }
    return all.tokens();
}

// 20 prompts, others that evict them, the same 20: the second run hits at its beginning what the
// first hit at its end in an endless cache.
TEST(CacheExcess, IsOfAStretchAndLeavesRoomForFewTokens) {
    std::vector<Record> cold;
    std::vector<Record> warm;
    for (std::uint32_t i = 0; i < 140; ++i) {
        const bool again = i >= 120;
        cold.push_back(row(i, 100 * i, again ? 1536 : 0, 0));
        warm.push_back(row(i, 100 * i, again ? 1536 : 0, i < 20 ? 1536 : 0));
    }
    EXPECT_EQ(std::tuple(excess(cold), excess(warm)), std::tuple(0u, 20 * (1536 - 16u)));
    EXPECT_EQ(excess({}), 0u);
    // What was lost before a stretch does not excuse what was too much in it.
    EXPECT_EQ(excess({row(0, 0, 4096, 0), row(1, 100, 0, 512), row(2, 200, 4096, 0)}), 512 - 16u);
    // Two rows of one prompt: whichever the server took first, the other one hits.
    EXPECT_EQ(excess({row(0, 0, 0, 1024), row(1, 9, 1024, 0)}), 0u);
    EXPECT_EQ(excess({row(0, 0, 0, 1024), row(1, 11, 1024, 0)}), 1024 - 16u) << "it left too late";
    EXPECT_EQ(excess({row(0, 50, 0, 1024), row(1, 9, 1024, 0)}), 0u) << "the file is not by time";
    // At the bound and one above; without the server's blocks the trace's leave more room.
    EXPECT_EQ(excess({row(0, 0, 32, 48)}), 0u);
    EXPECT_EQ(excess({row(0, 0, 32, 49)}), 1u);
    Record record = row(0, 0, 0, 512 + 512 + 7 + 16);
    record.expected_cached_server = std::nullopt;
    record.expected_cached_tokens = 512;
    EXPECT_EQ(excess({record}, 7), 0u);
    EXPECT_EQ(excess({record}, 6), 1u);
    // A row that was never sent left nothing; one that failed may have; one that was sent twice may
    // have hit itself.
    Record unsent = row(1, 5, 1024, 0);
    unsent.fired_ns = std::nullopt;
    EXPECT_EQ(excess({row(0, 0, 0, 1024), unsent}), 1024 - 16u);
    Record failed = row(1, 5, 1024, 0);
    failed.cached_tokens = std::nullopt;
    EXPECT_EQ(excess({row(0, 0, 0, 1024), failed}), 0u);
    Record twice = row(0, 0, 0, 1024);
    twice.stale_retries = 1;
    EXPECT_EQ(excess({twice}), 0u);
}

// Whether the cache was warm, by the probe and by the rows: what is said, and what is not.

CacheProbe probe(CacheState state, std::uint64_t cached = 0) {
    return {.state = state, .tokens = 1024, .cached_tokens = cached};
}

/// Rows that report, and hit what an empty cache allows; `beyond` tokens more where there are any.
SummaryFigures rows(std::uint64_t beyond = 0) {
    return SummaryFigures{.rows = 100,
                          .expected_cached_tokens_reported = 51'200,
                          .cached_tokens = 51'200 + beyond,
                          .cache_rows_reported = 100,
                          .cache_rows_above = beyond > 0 ? 10u : 0u};
}

std::string json_of(const SummaryFigures& figures, const CacheProbe& seen) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_warm_cache(json, figures, seen);
    json.end_object();
    return text;
}

// The probe alone is enough, and so are the rows; a cold probe does not excuse what rows hit.
TEST(WarmCache, IsToldByProbeOrRowsOrUnknown) {
    EXPECT_EQ(was_warm(rows(), probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(was_warm(rows(), probe(CacheState::warm, 1008)), std::optional(true));
    EXPECT_EQ(was_warm(rows(90'000), probe(CacheState::cold)), std::optional(true));
    EXPECT_EQ(was_warm(rows(90'000), probe(CacheState::off)), std::optional(true));
    EXPECT_EQ(was_warm(rows(), probe(CacheState::unknown)), std::optional(false));
    // Neither tells: a server that reports nothing, or hits that smaller blocks explain, too.
    EXPECT_EQ(was_warm(SummaryFigures(), probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(rows(2560), probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(rows(2560), probe(CacheState::cold)), std::optional(false));
    EXPECT_TRUE(says(json_of(SummaryFigures(), CacheProbe()),
                     "\"probe\":\"off\",\"why\":null,\"probe_tokens\":null"));
    EXPECT_TRUE(says(json_of(SummaryFigures(), CacheProbe()), "\"warm\":null"));
    // Users of several shards share prefixes that the forecast of each shard does not know of.
    SummaryFigures merged = rows(90'000);
    merged.shard_role = {.others_send = false, .merged = true, .forecast_apart = true};
    EXPECT_EQ(was_warm(merged, probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(warm_warning(merged, probe(CacheState::cold)), "");
    const std::string told = warm_warning(merged, probe(CacheState::warm, 1008));
    EXPECT_TRUE(says(told, "repeat with another --cache-salt WORD, the same for all")) << told;
    // Rows of one shard hit what others sent: its own probe is all that tells.
    SummaryFigures of_shard = rows(90'000);
    of_shard.shard_role.others_send = true;
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::warm, 1008)), std::optional(true));
    EXPECT_EQ(warm_warning(of_shard, probe(CacheState::cold)), "");
    of_shard.cached_tokens = of_shard.expected_cached_tokens_reported;
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::unknown)), std::nullopt);
}

TEST(WarmCache, WarnsOnceAndIsAReasonOfTheVerdict) {
    const std::string text = warm_warning(rows(), probe(CacheState::warm, 1008));
    EXPECT_TRUE(says(text, "1008 of 1024 tokens")) << text;
    EXPECT_TRUE(says(text, "--cache-salt random or --reset-cache")) << text;
    EXPECT_TRUE(says(warm_warning(rows(90'000), probe(CacheState::warm, 1008)), "275.8 %"));
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::cold)), "");
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::unknown)), "");
    // What may be smaller blocks is, where the probe found the cache cold.
    EXPECT_TRUE(says(warm_warning(rows(2560), CacheProbe()), "or its cache was warm"));
    const std::string cold = warm_warning(rows(2560), probe(CacheState::cold));
    EXPECT_TRUE(says(cold, "its blocks are smaller than the trace's (a probe")) << cold;
    // The verdict has a reason, which does not blame the client.
    EXPECT_EQ(warm_reason(rows(), probe(CacheState::cold)), "");
    const std::string reason = warm_reason(rows(), probe(CacheState::warm, 1008));
    EXPECT_TRUE(says(reason, "the server, not the client: its prefix cache was warm")) << reason;
    for (const CacheState state :
         {CacheState::off, CacheState::cold, CacheState::unknown, CacheState::warm}) {
        EXPECT_EQ(from_name<CacheState>(name_of(state)), std::optional(state));
    }
    EXPECT_FALSE(from_name<CacheState>("tepid"));
}

}  // namespace
}  // namespace driftless
