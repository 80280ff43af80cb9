// A run over time and by phase, and distributions.

#include "proto/figures/run_timeline.hpp"

#include "proto/core/hash.hpp"
#include "proto/figures/summary.hpp"
#include "tests/test.hpp"

namespace driftless {

// What rules ask of a run: the reach of the phase, its users, overflows, and trees' first requests.

namespace {

Record sent(const char* tree, std::uint32_t request, std::int64_t cached) {
    return {.request = request,
            .user = 0,
            .tree = tree,
            .fired_ns = 1,
            .input_length = 100,
            .expected_cached_tokens = 10,
            .cached_tokens = cached};
}

// In whatever order records come, and in the warm-up as well: it primes what follows.
TEST(PhaseMarks, KeepsFirstRequestsUntilTheMeasurement) {
    PhaseMarks marks;
    marks.add(sent("a", 3, 90));
    Record primer = sent("a", 1, 20);
    primer.phase = Phase::warmup;
    marks.add(primer);
    marks.add(sent("b", 2, 30));
    Record again = sent("a", 9, 5);
    again.pass = 1;
    marks.add(again);
    Record silent = sent("c", 4, 0);
    silent.cached_tokens.reset();
    marks.add(silent);
    const FirstTurnFigures turns = marks.figures().first_turns;
    EXPECT_EQ(std::tuple(turns.trees, turns.reported), std::tuple(4U, 3U));
    EXPECT_EQ(turns.cached_tokens, 20U + 30U + 5U);
    EXPECT_EQ(std::tuple(turns.input_tokens, turns.expected_tokens), std::tuple(300U, 30U));
    PhaseMarks other_marks;
    Record record = sent("a", 0, 0);
    record.first_token_ns = 50;
    record.last_token_ns = 70;
    record.user = 2;
    other_marks.add(record);
    record.first_token_ns = 60;
    record.last_token_ns.reset();
    record.user = 0;
    other_marks.add(record);
    record.phase = Phase::warmup;
    record.first_token_ns = 99;
    record.user = 7;
    other_marks.add(record);
    EXPECT_EQ(other_marks.figures().last_first_token_ns, 60);
    EXPECT_EQ(other_marks.figures().last_token_ns, 70);
    EXPECT_EQ(other_marks.figures().users, 2U);
    // The four texts that AIPerf's AgentX knows, in any case, and nothing else.
    for (const char* text :
         {"This model's Maximum Context length is 8192 tokens", "code: CONTEXT_LENGTH_EXCEEDED",
          "prompt is too long: 9 > 8", "exceeds the context length"}) {
        EXPECT_TRUE(is_context_overflow(text)) << text;
    }
    EXPECT_FALSE(is_context_overflow("context") || is_context_overflow(""));
    EXPECT_FALSE(is_context_overflow("internal error"));
}

// How long a run was active, how many requests it had open, and its best second, over segments
// whose stamps overlap. Expectations are worked out by hand.

constexpr std::int64_t s = 1'000'000'000;

Record row_of(std::uint32_t segment, std::int64_t due_ns, std::int64_t fired_ns,
              std::int64_t ended_ns) {
    return {.segment = segment,
            .due_ns = due_ns,
            .fired_ns = fired_ns,
            .ended_ns = ended_ns,
            .outcome = Outcome::ok};
}

Record interrupted(std::uint32_t segment, std::int64_t due_ns, std::int64_t fired_ns) {
    Record record = row_of(segment, due_ns, fired_ns, 0);
    record.outcome = Outcome::interrupted;
    record.ended_ns.reset();
    record.has_chunks = false;
    return record;
}

RunTimelineFigures of(const std::vector<Record>& records) {
    RunTimeline forwards;
    RunTimeline backwards;
    for (std::size_t i = 0; i < records.size(); ++i) {
        forwards.add(records[i]);
        backwards.add(records[records.size() - 1 - i]);
    }
    EXPECT_EQ(forwards.figures().duration_ns, backwards.figures().duration_ns);
    EXPECT_EQ(forwards.figures().max_concurrent_requests,
              backwards.figures().max_concurrent_requests);
    return forwards.figures();
}

// One segment: from time 0, also where its first row left later, to the last stamp of any record.
TEST(RunTimeline, AddsUpSegmentsWithoutOverlapsAndGaps) {
    EXPECT_EQ(of({}).duration_ns, 0);
    EXPECT_EQ(of({row_of(0, 2 * s, 2 * s, 3 * s), row_of(0, s, s, 2 * s)}).duration_ns, 3 * s);
    // A segment that was late when it was killed goes on where its held rows were due: its time and
    // the time before are added up, for they followed one another.
    const std::vector<Record> records = {
        row_of(0, 0, 0, 10 * s),
        interrupted(0, s, 9 * s),
        row_of(1, 2 * s, 2 * s, 6 * s),  // held back before, and sent by the next segment
        row_of(1, 3 * s, 3 * s, 12 * s),
    };
    EXPECT_EQ(of(records).duration_ns, 10 * s + 10 * s);
    // What nobody did between two segments is not time of the run, and rows that never left are
    // none.
    Record unseen;  // due when the run died, and given up
    unseen.outcome = Outcome::interrupted;
    unseen.segment = 0;
    unseen.due_ns = 3 * s;
    const std::vector<Record> other_records = {row_of(0, 0, 0, 2 * s), unseen,
                                               row_of(1, 5 * s, 5 * s, 7 * s)};
    EXPECT_EQ(of(other_records).duration_ns, 2 * s + 2 * s);
    EXPECT_EQ(of({unseen}).duration_ns, 0);
}

// An end makes room for what fires at the same instant; a nanosecond later it does not.
TEST(RunTimeline, PeakIsExactAndUnsentRowsHaveNone) {
    const auto peak = [](std::int64_t end_ns) {
        return of({row_of(0, 0, 0, end_ns), row_of(0, s, s, 2 * s)}).max_concurrent_requests;
    };
    expect_each(peak, gives(s - 1, 1u), gives(s, 1u), gives(s + 1, 2u));
    // What a dying segment had open is not open in the next one.
    EXPECT_EQ(of({interrupted(0, 0, 0), interrupted(0, s, s), row_of(1, 2 * s, 2 * s, 3 * s)})
                  .max_concurrent_requests,
              2u);
    EXPECT_EQ(of({row_of(0, 0, 0, 5 * s), row_of(1, s, s, 3 * s), row_of(1, s, s, 4 * s)})
                  .max_concurrent_requests,
              2u);
    // Whole answers (--no-stream) do not say when their tokens were made; no answer, no token.
    Record failed = row_of(0, 0, 0, s);
    failed.outcome = Outcome::http_5xx;
    EXPECT_EQ(of({failed}).max_output_tokens_per_s, 0u);
    Record whole = row_of(0, s, s, 2 * s);
    whole.output_tokens = 7;
    EXPECT_FALSE(of({failed, whole}).max_output_tokens_per_s.has_value());
    // A row that was given up before it was sent was never open; its time counts.
    Record refused = row_of(0, s, 0, 4 * s);
    refused.fired_ns.reset();
    refused.outcome = Outcome::connect_failed;
    EXPECT_EQ(of({refused}).max_concurrent_requests, 0u);
    EXPECT_EQ(of({refused}).duration_ns, 4 * s);
}

// Shards go side by side: their segments are no parts of one time, and what they have open at once
// is open at once.
TEST(RunTimeline, ShardsGoSideBySideUnlessFinishedLater) {
    std::vector<Record> records = {
        row_of(0, 0, 0, 10 * s),
        row_of(0, s, s, 9 * s),
        row_of(0, 5 * s, 5 * s, 12 * s),
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].shard = static_cast<std::uint32_t>(i);
    }
    EXPECT_EQ(of(records).duration_ns, 12 * s);
    EXPECT_EQ(of(records).max_concurrent_requests, 3U);
    EXPECT_EQ(of(records).spans.size(), 1U);
    // Two shards side by side, one of which was killed and finished later: that is a stretch of its
    // own.
    const auto of_shard = [](std::uint32_t shard, Record record) {
        record.shard = shard;
        return record;
    };
    RunTimeline timeline;
    timeline.add(of_shard(0, row_of(0, 0, 0, 4 * s)));
    timeline.add(of_shard(1, row_of(0, 1 * s, 1 * s, 3 * s)));
    EXPECT_EQ(timeline.figures().duration_ns, 4 * s);
    EXPECT_EQ(timeline.figures().max_concurrent_requests, 2u);
    timeline.add(of_shard(1, row_of(1, 2 * s, 2 * s, 5 * s)));
    EXPECT_EQ(timeline.figures().duration_ns, 7 * s);
    EXPECT_EQ(timeline.figures().max_concurrent_requests, 2u);
    EXPECT_FALSE(timeline.figures().sent_rate);
}

// The warm-up is counted, and in no figure; what the end of the time cut off has not failed.

Record sent(Phase phase, Outcome outcome) {
    return {.phase = phase,
            .url = "http://a:1",
            .fired_ns = 5,
            .drift_ns = 5,
            .tainted = {"late"},
            .ended_ns = 9,
            .output_tokens = 7,
            .outcome = outcome};
}

TEST(Phases, TheWarmUpAndWhatWasCutOffAreApart) {
    Summary summary;
    summary.add(sent(Phase::warmup, Outcome::ok));
    summary.add(sent(Phase::warmup, Outcome::http_5xx));
    Record unsent = sent(Phase::warmup, Outcome::not_sent);
    unsent.fired_ns.reset();
    summary.add(unsent);
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(std::tuple(figures.warmup_rows, figures.warmup_fired), std::tuple(3u, 2u));
    EXPECT_EQ(std::tuple(figures.warmup_failed, figures.rows), std::tuple(1u, 0u));
    EXPECT_EQ(std::tuple(figures.fired, figures.output_tokens_all), std::tuple(0u, 0u));
    EXPECT_EQ(std::tuple(figures.tainted_rows, figures.sending.drift.count), std::tuple(0u, 0u));
    EXPECT_TRUE(figures.urls.empty() && figures.errors.empty());
    EXPECT_EQ(figures.duration_ns, 0);
    // Rates are of the measurement, which begins with its first due.
    Summary other_summary;
    Record record = sent(Phase::profile, Outcome::ok);
    record.due_ns = 1'000'000'000;
    record.fired_ns = record.due_ns;
    record.ended_ns = record.done_ns = 3'000'000'000;
    other_summary.add(record);
    EXPECT_EQ(other_summary.figures().duration_ns, 3'000'000'000) << "from time 0";
    other_summary.add(sent(Phase::warmup, Outcome::ok));
    EXPECT_EQ(other_summary.figures().duration_ns, 2'000'000'000);
    Summary third_summary;
    Record cut = sent(Phase::profile, Outcome::cancelled);
    third_summary.add(cut);  // by the user
    cut.censored = true;
    third_summary.add(cut);
    third_summary.add(cut);
    const SummaryFigures other_figures = third_summary.figures();
    EXPECT_EQ(std::tuple(other_figures.rows, other_figures.failed, other_figures.censored),
              std::tuple(3u, 1u, 2u));
    EXPECT_EQ(other_figures.urls.front().failed, 1u);
    ASSERT_EQ(other_figures.errors.size(), 1u);
    EXPECT_EQ(other_figures.errors.front().rows, 1u);
    Summary other_other_summary;
    Record again = sent(Phase::profile, Outcome::ok);
    other_other_summary.add(again);
    again.attempt = 2;
    other_other_summary.add(again);
    EXPECT_EQ(other_other_summary.figures().retries, 1u);
}

// How many values a percentile needs: the table of MLPerf Endpoints (docs/early_stopping.md).

TEST(Floors, AreThoseOfMlperf) {
    EXPECT_EQ(std::tuple(percentile_floor(500), percentile_floor(750), percentile_floor(900)),
              std::tuple(11U, 24U, 64U));
    EXPECT_EQ(std::tuple(percentile_floor(950), percentile_floor(990), percentile_floor(999)),
              std::tuple(130U, 662U, 6636U));
    EXPECT_EQ(percentile_floor(250), 24U);
}

// Percentiles are nearest rank, exact from the sample and within 0.1 % from the histogram.

// The textbook example of nearest rank (15, 20, 35, 40, 50): P25 is 20, P50 35, P75 40, P90 50.
TEST(Sample, IsNearestRankOfSortedNumbers) {
    Sample sample;
    for (const double value : {35.0, 20.0, 15.0, 50.0, 40.0}) {
        sample.add(value);
    }
    const Distribution d = sample.distribution();
    EXPECT_EQ(std::tuple(d.count, d.at[0], d.median()), std::tuple(5u, 20, 35));
    EXPECT_EQ(std::tuple(d.at[2], d.at[3], d.mean), std::tuple(40, 50, 32));
    EXPECT_DOUBLE_EQ(d.std, std::sqrt(166.0));  // of the population: numpy.std gives 12.884098
    EXPECT_EQ(std::tuple(d.min, d.max), std::tuple(15, 50));
    // Ranks at the borders: of 1,000 values P99.9 is the 999th, of 1,001 the 1,000th, of 1 the
    // first.
    EXPECT_EQ(std::tuple(nearest_rank(1000, 999), nearest_rank(1001, 999), nearest_rank(100, 990)),
              std::tuple(999u, 1000u, 99u));
    EXPECT_EQ(std::tuple(nearest_rank(101, 990), nearest_rank(1, 250), nearest_rank(2, 500)),
              std::tuple(100u, 1u, 1u));
    EXPECT_EQ(Sample().distribution().count, 0u);
    // Many numbers are sorted without comparing them, to the same order: of both signs, fractions,
    // and far apart; on both sides of the count from which that is done.
    Random random(7);
    for (const std::size_t count : {2047U, 2048U, 5000U}) {
        Sample other_sample;
        std::vector<double> values;
        for (std::size_t i = 0; i < count; ++i) {
            const double sign = random.uniform() < 0.3 ? -1 : 1;
            values.push_back(i % 9 == 0 ? 0.0 : sign * std::pow(10.0, 40 * random.uniform() - 20));
            other_sample.add(values.back());
        }
        std::sort(values.begin(), values.end());
        const Distribution other_d = other_sample.distribution();
        EXPECT_EQ(std::tuple(other_d.min, other_d.max), std::tuple(values.front(), values.back()));
        double sum = 0;
        for (const double value : values) {
            sum += value;
        }
        EXPECT_EQ(other_d.mean,
                  sum / static_cast<double>(count));  // in the same order, to the last bit
        for (std::size_t i = 0; i < percentiles.size(); ++i) {
            EXPECT_EQ(other_d.at[i], values[nearest_rank(count, percentiles[i].per_mille) - 1]);
        }
    }
}

// Over nine decades the histogram stays within 0.1 % of the exact sample, and its mean, std, min
// and max are those of the values.
// Of values that may be there, or not, the bounds hold every choice, and the ends are reached.
TEST(Sample, BoundsHoldWhateverIsThereOfThePossible) {
    std::mt19937 random(5);
    const auto up_to = [&random](int most) {
        return std::uniform_int_distribution<int>(0, most)(random);
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<double> sure(static_cast<std::size_t>(1 + up_to(7)));
        std::vector<double> possible(static_cast<std::size_t>(up_to(5)));
        BoundedSample sample(BoundedSample::Ends::both);
        for (double& one : sure) {
            one = up_to(9);
            sample.add(one, 0, 0, false);
        }
        for (double& one : possible) {
            one = up_to(12);
            sample.add_possible(one, false);
        }
        const Bounds bounds = sample.bounds();
        Distribution most;
        for (unsigned chosen = 0; chosen < 1U << possible.size(); ++chosen) {
            Sample all;
            for (const double one : sure) {
                all.add(one);
            }
            for (std::size_t i = 0; i < possible.size(); ++i) {
                chosen >> i & 1U ? all.add(possible[i]) : void();
            }
            const Distribution here = all.distribution();
            most.mean = std::max(most.mean, here.mean);
            EXPECT_LE(bounds.lower.mean, here.mean);
            for (std::size_t i = 0; i < percentiles.size(); ++i) {
                most.at[i] = std::max(most.at[i], here.at[i]);
                EXPECT_LE(bounds.lower.at[i], here.at[i]);
            }
        }
        EXPECT_NEAR(bounds.upper.mean, most.mean, 1e-9);
        EXPECT_EQ(bounds.upper.at, most.at);
    }
}

// A percentile of buckets is off by them, too: the bar holds that of the values.
TEST(Histogram, BoundsHoldThePercentilesWithinTheError) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        BoundedHistogram histogram;
        Sample values;
        for (int i = 0; i < 40; ++i) {
            const std::int64_t value =
                std::uniform_int_distribution(100'000'000, 110'000'000)(random);
            histogram.add(value, 0, 0);
            values.add(static_cast<double>(value));
        }
        const Bounds bounds = histogram.bounds();
        const Distribution exact = values.distribution();
        for (std::size_t i = 0; i < percentiles.size(); ++i) {
            EXPECT_LE(bounds.lower.at[i], exact.at[i]);
            EXPECT_GE(bounds.upper.at[i], exact.at[i]);
            EXPECT_LE(bounds.upper.at[i] - bounds.lower.at[i], 0.002 * exact.at[i]);
        }
    }
    Random other_random(11);
    Sample sample;
    Histogram histogram;
    for (int i = 0; i < 50000; ++i) {
        const auto value = static_cast<std::int64_t>(std::pow(10.0, 9 * other_random.uniform()));
        sample.add(static_cast<double>(value));
        histogram.add(value);
    }
    const Distribution exact = sample.distribution();
    const Distribution close = histogram.distribution();
    EXPECT_EQ(std::tuple(close.count, close.min, close.max),
              std::tuple(exact.count, exact.min, exact.max));
    EXPECT_NEAR(close.mean, exact.mean, 1e-9 * exact.mean);
    EXPECT_NEAR(close.std, exact.std, 1e-9 * exact.std);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        EXPECT_NEAR(close.at[i], exact.at[i], 0.001 * exact.at[i]) << percentiles[i].name;
    }
}

// Each value alone comes back within 0.1 %, at every border of a bucket and at both ends.
TEST(Histogram, BordersAndSumsAreWithinTheError) {
    for (int shift = 0; shift < 63; ++shift) {
        for (const std::int64_t step : {-1, 0, 1}) {
            const std::int64_t value = (std::int64_t{1} << shift) + step;
            for (const std::int64_t other : {value, value + value / 513}) {
                Histogram histogram;
                histogram.add(other, 1000);
                histogram.add(0);  // so that it is the bucket that answers, and not min or max
                histogram.add(INT64_MAX);
                EXPECT_NEAR(histogram.distribution().median(), static_cast<double>(other),
                            0.001 * static_cast<double>(other));
            }
        }
    }
    Histogram histogram;
    histogram.add(-5);
    EXPECT_EQ(histogram.distribution().max, 0);
    // Merging two is the same as adding all to one; weights are repetitions.
    Random random(5);
    Histogram all;
    Histogram left;
    Histogram right;
    for (int i = 0; i < 3000; ++i) {
        const auto value = static_cast<std::int64_t>(random.below(1'000'000));
        const std::uint64_t weight = random.below(4);
        for (std::uint64_t k = 0; k < weight; ++k) {
            all.add(value);
        }
        (i % 3 == 0 ? left : right).add(value, weight);
    }
    left.merge(right);
    left.merge(Histogram());
    const Distribution a = all.distribution();
    const Distribution b = left.distribution();
    EXPECT_EQ(std::tuple(a.count, a.at, a.min, a.max), std::tuple(b.count, b.at, b.min, b.max));
    EXPECT_NEAR(a.mean, b.mean, 1e-9 * a.mean);
    EXPECT_NEAR(a.std, b.std, 1e-9 * a.std);
}

}  // namespace
}  // namespace driftless
