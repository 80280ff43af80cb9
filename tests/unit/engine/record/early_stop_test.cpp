// When a run ends early: a condition holds for as long as it has to, by enough values.
#include "engine/record/early_stop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "cmd/threshold_values.hpp"

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
        PeriodMeasured measured;
        measured.begin_ns = seconds++ * second;
        measured.end_ns = seconds * second;
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
        EXPECT_NE(std::string(refused.error().doing).find(why), std::string::npos)
            << refused.error().doing;
    }
}

}  // namespace
}  // namespace driftless
