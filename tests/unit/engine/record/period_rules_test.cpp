// When a run ends early: a condition holds for as long as it has to, by enough values.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "cmd/flags/summary_values.hpp"
#include "engine/record/grow_and_stop.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Periods of 1 s.
struct Watch {
    std::atomic<bool> wanted{false};
    EarlyStop stop;
    std::int64_t seconds = 0;
    explicit Watch(const char* text, const EndedRequests& before = {})
        : stop({parse_stop_rule(text).value()}, before, wanted) {}
    /// So many answers of the period had their first token after this time.
    bool after(std::uint64_t answers, double ttft_ns) {
        PeriodMeasured measured{.begin_ns = seconds++ * second, .end_ns = seconds * second};
        Sample sample;
        for (std::uint64_t i = 0; i < answers; ++i) {
            sample.add(ttft_ns);
        }
        measured.ttft = sample.distribution();
        stop.look(measured);
        return wanted;
    }
    bool after_ends(std::uint64_t ok, std::uint64_t failed) {
        Record record;
        record.outcome = Outcome::ok;
        for (std::uint64_t i = 0; i < ok + failed; ++i) {
            record.outcome = i < ok ? Outcome::ok : Outcome::http_5xx;
            stop.ended(record);
        }
        return after(0, 0);
    }
};

// What ends after a period is known before it is looked at, and belongs to the next.
TEST(EarlyStop, CountsEndsInTheirPeriod) {
    Watch watch("failed >= 30");
    Record record;
    record.outcome = Outcome::http_5xx;
    for (int i = 0; i < 31; ++i) {
        record.ended_ns = i < 29 ? second : second + 1;
        watch.stop.ended(record);
    }
    EXPECT_FALSE(watch.after(0, 0));
    EXPECT_TRUE(watch.after(0, 0));
    EXPECT_EQ(watch.stop.found()->at_s, 2);
    EXPECT_EQ(watch.stop.found()->value, 31);
}

TEST(EarlyStop, NeedsItsSample) {
    EXPECT_FALSE(Watch("ttft:p99 > 1s").after(EarlyStop::sample_min - 1, 2e9));
    EXPECT_TRUE(Watch("ttft:p99 > 1s").after(EarlyStop::sample_min, 2e9));
    EXPECT_FALSE(Watch("ttft:p99 > 1s").after(100, 1e9));
    EXPECT_FALSE(Watch("errors > 5 %").after_ends(0, EarlyStop::sample_min - 1));
    EXPECT_TRUE(Watch("errors > 5 %").after_ends(0, EarlyStop::sample_min));
    Watch slow("ttft:p99 > 1s");  // ten in each period: twenty in two of them
    EXPECT_FALSE(slow.after(10, 2e9));
    EXPECT_TRUE(slow.after(10, 2e9));
    EXPECT_EQ(slow.stop.found()->at_s, 2);
    EXPECT_EQ(slow.stop.found()->value, 2000);
    EXPECT_EQ(value_text(*slow.stop.found()), "2000.000 ms");
}

TEST(EarlyStop, HoldsForItsTime) {
    Watch watch("ttft:p99 > 1s for 3s");
    EXPECT_FALSE(watch.after(50, 2e9));
    EXPECT_FALSE(watch.after(50, 2e9));
    EXPECT_FALSE(watch.after(50, 0.5e9));  // from the beginning
    EXPECT_FALSE(watch.after(50, 2e9));
    EXPECT_FALSE(watch.after(0, 0));  // says nothing, and its time counts
    EXPECT_TRUE(watch.after(50, 2e9));
    EXPECT_EQ(watch.stop.found()->condition, "ttft:p99 > 1s for 3s");
}

TEST(EarlyStop, CountsErrorsOfTheWholeRun) {
    Watch watch("errors > 5 %");
    EXPECT_FALSE(watch.after_ends(95, 5));
    EXPECT_TRUE(watch.after_ends(0, 1));
    EXPECT_EQ(watch.stop.found()->value, 6.0 / 101);
    Watch resumed("errors > 5 %", {1000, 0});
    EXPECT_FALSE(resumed.after_ends(0, 50));
    EXPECT_TRUE(resumed.after_ends(0, 10));
}

TEST(EarlyStop, LeavesOutWhatDidNotEndByItself) {
    EndedRequests all;
    Record record;
    for (const Outcome outcome : {Outcome::not_sent, Outcome::abandoned}) {
        record.outcome = outcome;
        all.add(record);
    }
    record.outcome = Outcome::cancelled;
    record.censored = true;
    all.add(record);
    record.censored = false;
    record.phase = Phase::warmup;
    all.add(record);
    EXPECT_EQ(all.ended, 0u);
    record.phase = Phase::profile;
    all.add(record);
    EXPECT_EQ(all.ended, 1u);
    EXPECT_EQ(all.failed, 1u);
}

TEST(StopRule, IsReadOrRefused) {
    const Result<StopRule> rule = parse_stop_rule("ttft:p99 > 10s for 30s");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule.value().figure, StopFigure::ttft);
    EXPECT_EQ(rule.value().for_ns, 30 * second);
    EXPECT_EQ(rule.value().threshold.bound, 10e9);
    for (const char* const good :
         {"errors>5%", "failed >= 100", "tpot:mean > 50ms for 1m", "e2e:p99 > 1s"}) {
        EXPECT_TRUE(parse_stop_rule(good)) << good;
    }
    for (const auto& [text, why] :
         {std::pair{"good < 90 %", "only known at the end"},
          std::pair{"errors > 5 % for", "share from 0 to 100"},
          std::pair{"errors > 5 % for soon", "needs a time after"},
          std::pair{"speed > 2", "is not a known figure"}, std::pair{"", "has no comparison"}}) {
        const Result<StopRule> refused = parse_stop_rule(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_TRUE(says(std::string(refused.error().doing), why)) << refused.error().doing;
    }
}

// When users are added: while there is room, never right after, and only on what is known.

constexpr double limit = 1000;

GrowRules rules(std::uint32_t first, std::uint32_t most, GrowFigure figure = GrowFigure::avg) {
    GrowRules some;
    some.figure = figure;
    some.limit_ns = static_cast<std::int64_t>(limit);
    some.users_first = first;
    some.users_max = most;
    return some;
}

/// A period in which everything measured was this part of the limit.
Distribution measured(double part) {
    Sample sample;
    sample.add(part * limit);
    return sample.distribution();
}

struct Grown {
    std::atomic<std::uint32_t> wanted{0};
    Growth growth;
    explicit Grown(const GrowRules& some) : growth(some, wanted) {}
    std::uint32_t after(double part, std::uint64_t failed = 0, std::uint64_t begun = UINT64_MAX) {
        growth.look(measured(part), failed, begun);
        return wanted;
    }
};

// One, and one more for each 15 % of the limit.
TEST(Growth, AddsAsManyAsThereIsRoomFor) {
    for (const auto& [part, added] :
         {std::pair(0.81, 0U), {0.79, 2U}, {0.71, 2U}, {0.69, 3U}, {0.5, 4U}, {0.0, 7U}}) {
        Grown grown(rules(2, 100));
        EXPECT_EQ(grown.wanted, 2u);
        EXPECT_EQ(grown.after(part), 2 + added) << part;
    }
    Grown grown(rules(2, 4));
    EXPECT_EQ(grown.after(0), 4u);
}

// What was measured before all of the users had begun is not looked at, however many periods that
// takes, and what was before is forgotten.
TEST(Growth, WaitsUntilTheNewUsersShow) {
    Grown grown(rules(1, 100));
    const std::uint32_t first = grown.after(0.5);
    for (const std::uint32_t begun : {1U, 1U, 1U, first - 1}) {
        EXPECT_EQ(grown.after(0.1, 0, begun), first);
    }
    EXPECT_EQ(grown.after(0.9, 0, first), first);
    EXPECT_EQ(grown.after(0.9), first);
    EXPECT_EQ(grown.after(0.1), first + 3);  // of three: 0.63
}

// Between 80 % of the limit and the limit nothing changes, and beyond it nobody goes.
TEST(Growth, NeverGivesUsersUp) {
    Grown grown(rules(3, 100));
    for (const double part : {0.85, 0.99, 1.0, 5.0}) {
        EXPECT_EQ(grown.after(part), 3u);
    }
}

TEST(Growth, KnowsWhenItKnowsNothing) {
    Grown grown(rules(3, 100));
    grown.growth.look(Distribution(), 0, 3);
    EXPECT_EQ(grown.wanted, 3u);
    EXPECT_EQ(grown.after(0.1, 1), 3u);  // a request has failed
    EXPECT_GT(grown.after(0.1), 3u);
}

TEST(Growth, LooksAtTheFigureThatItIsTold) {
    Sample sample;
    for (int i = 1; i <= 100; ++i) {
        sample.add(i);
    }
    for (const auto& [figure, value] : {std::pair(GrowFigure::avg, 50.5),
                                        {GrowFigure::p50, 50},
                                        {GrowFigure::p90, 90},
                                        {GrowFigure::p95, 95},
                                        {GrowFigure::p99, 99},
                                        {GrowFigure::max, 100}}) {
        GrowRules some = rules(1, 2, figure);
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) + 1;
        Grown above(some);
        above.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(above.wanted, 2u) << value;
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) - 1;
        Grown below(some);
        below.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(below.wanted, 1u) << value;
    }
}

}  // namespace

}  // namespace driftless
