// Rows that arrive at a rate: golden instants, exact means, laws that hold under ramps, and what
// stays of the plan.

#include "engine/plan/arrivals.hpp"

#include "tests/unit/engine/plan/goodness_of_fit.hpp"
#include "tests/unit/made.hpp"

namespace driftless {
namespace {

using Times = std::vector<std::int64_t>;
constexpr std::int64_t ms = 1'000'000;

ArrivalRules rules_of(ArrivalLaw law, double rate, std::uint64_t seed = 0) {
    return {.curve = RateCurve(rate), .law = law, .seed = seed};
}

Times times_of(const ArrivalRules& rules, std::size_t count) {
    const Result<Times> times = arrival_times(rules, count);
    EXPECT_TRUE(times);
    return times ? times.value() : Times();
}

TEST(Arrivals, AreGoldenHoweverManyThereAre) {
    EXPECT_EQ(times_of(rules_of(ArrivalLaw::constant, 8), 4),
              (Times{0, 125 * ms, 250 * ms, 375 * ms}));
    EXPECT_EQ(times_of(rules_of(ArrivalLaw::constant, 3), 4),
              (Times{0, 333'333'333, 666'666'667, 1'000'000'000}));
    EXPECT_EQ(times_of(rules_of(ArrivalLaw::poisson, 10, 1), 4),
              (Times{0, 9'982'942, 35'325'039, 212'770'305}));
    ArrivalRules gamma = rules_of(ArrivalLaw::gamma, 10, 1);
    gamma.shape = 0.5;
    EXPECT_EQ(times_of(gamma, 4), (Times{0, 23'593'293, 25'446'348, 120'319'077}));
    ArrivalRules inf = rules_of(ArrivalLaw::poisson, 10);
    inf.all_at_once = true;
    EXPECT_EQ(times_of(inf, 3), (Times{0, 0, 0}));
    // A longer trace begins with the arrivals of a shorter one: their numbers alone say when.
    const ArrivalRules rules = rules_of(ArrivalLaw::poisson, 10, 1);
    Times longer = times_of(rules, 1000);
    const Times shorter = times_of(rules, 10);
    longer.resize(10);
    EXPECT_EQ(longer, shorter);
    EXPECT_NE(times_of(rules_of(ArrivalLaw::poisson, 10, 2), 10), shorter);
}

double rate_of(const Times& times) {
    return static_cast<double>(times.size() - 1) * 1e9 /
           static_cast<double>(times.back() - times.front());
}

// Constant and scaled arrivals have the rate that was asked for, whatever their number; others have
// it in the long run only: of N rows within about 1/sqrt(N K).
TEST(Arrivals, HaveTheRateThatWasAsked) {
    for (const std::size_t count : {2, 100, 10'000}) {
        EXPECT_NEAR(rate_of(times_of(rules_of(ArrivalLaw::constant, 9.7), count)), 9.7, 1e-6);
        ArrivalRules scaled = rules_of(ArrivalLaw::poisson, 9.7);
        scaled.scaled = true;
        EXPECT_NEAR(rate_of(times_of(scaled, count)), 9.7, 1e-6);
    }
    EXPECT_NEAR(rate_of(times_of(rules_of(ArrivalLaw::poisson, 9.7), 10'000)), 9.7, 0.3);
    ArrivalRules recorded = rules_of(ArrivalLaw::recorded, 4);
    EXPECT_EQ(arrival_times(recorded, 3, {7, 8, 11}).value(), (Times{0, 125 * ms, 500 * ms}));
    EXPECT_FALSE(arrival_times(recorded, 3, {7, 7, 7}));
}

// Under a rate that changes, the arrivals taken back through the curve have the law of their gaps.
TEST(Arrivals, FollowRampsAndEndWhereTheRateEnds) {
    for (const ArrivalLaw law : {ArrivalLaw::poisson, ArrivalLaw::gamma}) {
        ArrivalRules rules = rules_of(law, 0, 11);
        rules.shape = 3;
        rules.curve.add(60, 0, 40);
        rules.curve.add(60, 40, 200, RampForm::exponential);
        rules.curve.add(30, 200, 5);
        rules.curve.hold(30);
        const Times times = times_of(rules, 10'001);
        std::vector<double> gaps;
        for (std::size_t i = 1; i < times.size(); ++i) {
            gaps.push_back(rules.curve.arrivals_by(static_cast<double>(times[i]) / 1e9) -
                           rules.curve.arrivals_by(static_cast<double>(times[i - 1]) / 1e9));
        }
        const auto gamma = [](double x) { return gamma_law(3, 3 * x); };
        EXPECT_LT(law == ArrivalLaw::poisson ? distance_from(gaps, exponential_law)
                                             : distance_from(gaps, gamma),
                  fits_at_one_percent);
    }
    // And on the clock: as many in each stretch as the curve expects, within chance.
    ArrivalRules rules = rules_of(ArrivalLaw::poisson, 0, 4);
    rules.curve.add(100, 10, 110);
    const Times times = times_of(rules, 6000);
    for (const auto& [from_s, to_s, expected] :
         {std::array{0.0, 50.0, 1750.0}, std::array{50.0, 100.0, 4250.0}}) {
        const auto within = std::count_if(times.begin(), times.end(), [&](std::int64_t at) {
            const double seconds = static_cast<double>(at) / 1e9;
            return seconds >= from_s && seconds < to_s;
        });
        EXPECT_NEAR(static_cast<double>(within), expected, 2.58 * std::sqrt(expected));
    }
    // As vllm bench: each gap at the rate of its row.
    rules = rules_of(ArrivalLaw::constant, 0);
    rules.over_rows = RampOverRows{1, 4, RampForm::linear};
    EXPECT_EQ(times_of(rules, 4), (Times{0, 500'000'000, 833'333'333, 1'083'333'333}));
    rules.over_rows->form = RampForm::exponential;
    EXPECT_NEAR(static_cast<double>(times_of(rules, 3)[1]), 5e8, 1);
    ArrivalRules ending = rules_of(ArrivalLaw::constant, 0);
    ending.curve.add(2, 10, 0);
    EXPECT_EQ(times_of(ending, 100).size(), 10U);
    EXPECT_FALSE(arrival_times(rules_of(ArrivalLaw::constant, 1e-9), 100)) << "decades";
}

Trace trace_of(const std::vector<std::pair<std::int64_t, std::uint32_t>>& rows) {
    Trace trace{.block_size = 16, .sessions = {"a", "b", "c"}};
    for (const auto& [at_ns, session] : rows) {
        TraceRow& row =
            append_row(trace, {.at_ns = at_ns, .output_length = 10, .session = session});
        row.input_length = 100 + row.index;
    }
    return trace;
}

Plan arrived(const ArrivalRules& rules, const Trace& trace) {
    Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    Result<Plan> retimed = arrive(rules, trace, std::move(plan).value());
    EXPECT_TRUE(retimed);
    return retimed ? std::move(retimed).value() : Plan();
}

Times dues(const Plan& plan) {
    return members_of(plan.rows, &Planned::due_ns);
}

// File order is that of `index`, also where times are not in it; sums are those of the rows left.
TEST(Arrivals, TakeRowsInFileOrderAndTreesAsRecorded) {
    Trace trace = trace_of({{0, 0}, {5, 0}, {9, 0}});
    std::swap(trace.rows[0].index, trace.rows[2].index);
    ArrivalRules rules = rules_of(ArrivalLaw::constant, 1000);
    const Plan plan = arrived(rules, trace);
    EXPECT_EQ(dues(plan), (Times{0, ms, 2 * ms}));
    EXPECT_EQ(plan.rows[0].row, 2U);
    EXPECT_EQ(std::tuple(plan.last_due_ns, plan.input_tokens), std::tuple(2 * ms, 303U));
    rules.duration_ns = 2 * ms;
    const Plan shorter = arrived(rules, trace);
    EXPECT_EQ(dues(shorter), (Times{0, ms}));
    EXPECT_EQ(shorter.rows_outside, 1U);
    EXPECT_NE(shorter.schedule_digest, plan.schedule_digest);
    EXPECT_NE(arrived(rules_of(ArrivalLaw::constant, 1001), trace).schedule_digest,
              plan.schedule_digest);
    // Trees come as a whole: the rows of one keep their recorded distances.
    const Trace other_trace =
        trace_of({{0, 0}, {2 * ms, 0}, {3 * ms, 1}, {4 * ms, 1}, {4 * ms, 0}});
    rules = rules_of(ArrivalLaw::constant, 100);
    rules.by_trees = true;
    const Plan other_plan = arrived(rules, other_trace);
    EXPECT_EQ(dues(other_plan), (Times{0, 2 * ms, 4 * ms, 10 * ms, 11 * ms}));
    EXPECT_EQ(planned_rate(rules, other_trace, other_plan), 100);
    rules.all_at_once = true;
    EXPECT_EQ(dues(arrived(rules, other_trace)), (Times{0, 0, ms, 2 * ms, 4 * ms}));
}

RateCurve many_pieces() {
    RateCurve curve(0);
    curve.add(10, 0, 5);                          // 25 arrivals
    curve.add(5, 5, 5);                           // 25
    curve.add(10, 5, 50, RampForm::exponential);  // 195.4
    curve.add(20, 50, 0);                         // 500
    curve.add(7, 0, 0);                           // none
    curve.add(3, 8, 2, RampForm::exponential);    // 12.98
    return curve;
}

TEST(RateCurve, IsInvertedExactlyAlsoOfALine) {
    const RateCurve curve = many_pieces();
    for (double arrivals = 0; arrivals < 1000; arrivals += 0.37) {
        const double seconds = curve.seconds_at(arrivals).value();
        EXPECT_NEAR(curve.arrivals_by(seconds), arrivals, 1e-6) << seconds;
    }
    for (double seconds = 0; seconds < 44.9; seconds += 0.11) {
        EXPECT_NEAR(curve.seconds_at(curve.arrivals_by(seconds)).value(), seconds, 1e-4);
    }
    // By hand: a ramp from 0 to r over T has its nth arrival at sqrt(2nT/r), as GuideLLM sends it.
    RateCurve line(0);
    line.add(10, 0, 5);
    EXPECT_DOUBLE_EQ(line.seconds_at(0).value(), 0);
    EXPECT_DOUBLE_EQ(line.seconds_at(1).value(), 2);
    EXPECT_DOUBLE_EQ(line.seconds_at(4).value(), 4);
    EXPECT_DOUBLE_EQ(line.seconds_at(25).value(), 10);
    EXPECT_DOUBLE_EQ(line.seconds_at(26).value(), 10.2) << "the last rate holds";
    EXPECT_EQ(line.last_rate(), 5);
    // Where nothing is expected for a while, the next arrival comes behind it.
    RateCurve pauses(0);
    pauses.add(4, 0, 0);
    pauses.add(2, 10, 10);
    pauses.add(5, 0, 0);
    pauses.hold(1);
    EXPECT_EQ(std::tuple(pauses.seconds_at(0), pauses.seconds_at(19.5)), std::tuple(4, 5.95));
    EXPECT_EQ(std::tuple(pauses.seconds_at(20), pauses.seconds_at(21)), std::tuple(11, 12));
    RateCurve ending(0);
    ending.add(2, 10, 0);
    EXPECT_TRUE(ending.seconds_at(9.9));
    EXPECT_FALSE(ending.seconds_at(10) || ending.is_zero());
    EXPECT_TRUE(RateCurve(0).is_zero());
    EXPECT_EQ(RateCurve(4).seconds_at(10), 2.5);
}

// Each arrival process has the gaps of its law: 10,000 of them, Kolmogorov-Smirnov at 1 %, with
// fixed seeds.

std::vector<double> gaps_of(ArrivalLaw law, double shape, std::uint64_t seed) {
    const UnitGaps gaps(law, shape, seed);
    std::vector<double> all;
    for (std::uint64_t number = 1; number <= 10'000; ++number) {
        all.push_back(gaps.gap(number));
    }
    return all;
}

double mean_of(const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

TEST(UnitGaps, HaveTheirLawAndAreNumbered) {
    for (const std::uint64_t seed : {0, 1, 2, 42}) {
        const std::vector<double> gaps = gaps_of(ArrivalLaw::poisson, 1, seed);
        EXPECT_LT(distance_from(gaps, exponential_law), fits_at_one_percent) << seed;
        EXPECT_NEAR(mean_of(gaps), 1, 0.03);
    }
    for (const double shape : {0.05, 0.5, 1.0, 2.5, 40.0}) {
        const std::vector<double> gaps = gaps_of(ArrivalLaw::gamma, shape, 3);
        const auto law = [shape](double x) { return gamma_law(shape, x * shape); };
        EXPECT_LT(distance_from(gaps, law), fits_at_one_percent) << shape;
        EXPECT_NEAR(mean_of(gaps), 1, 0.04 / std::sqrt(shape)) << shape;
    }
    // The test that they pass is not blind: other laws fail it.
    const auto half = [](double x) { return gamma_law(0.9, x * 0.9); };
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::poisson, 1, 0), half), fits_at_one_percent);
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::gamma, 1.1, 0), exponential_law),
              fits_at_one_percent);
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::constant, 1, 0), exponential_law), 10);
    // A gap depends on the seed and its number, and not on how many others were drawn.
    const UnitGaps gaps(ArrivalLaw::gamma, 0.5, 9);
    const double fifth = gaps.gap(5);
    (void)gaps.gap(4);
    EXPECT_EQ(gaps.gap(5), fifth);
    EXPECT_NE(gaps.gap(6), fifth);
    EXPECT_NE(UnitGaps(ArrivalLaw::gamma, 0.5, 10).gap(5), fifth);
    EXPECT_EQ(UnitGaps(ArrivalLaw::constant, 1, 0).gap(77), 1);
    // Neighbours are not alike: no correlation of gaps that follow each other, beyond chance.
    const std::vector<double> all = gaps_of(ArrivalLaw::poisson, 1, 5);
    double sum = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
        sum += (all[i] - 1) * (all[i - 1] - 1);
    }
    EXPECT_LT(std::abs(sum / std::sqrt(static_cast<double>(all.size()))), 2.58);
}

}  // namespace
}  // namespace driftless
