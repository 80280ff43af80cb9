// The warm-up is counted, and in no figure; what the end of the time cut off has not failed.
#include <gtest/gtest.h>

#include "proto/figures/summary.hpp"

namespace driftless {
namespace {

Record sent(Phase phase, Outcome outcome) {
    Record record;
    record.phase = phase;
    record.outcome = outcome;
    record.url = "http://a:1";
    record.fired_ns = 5;
    record.drift_ns = 5;
    record.ended_ns = 9;
    record.output_tokens = 7;
    record.tainted = {"late"};
    return record;
}

TEST(Phases, TheWarmUpIsInNoOtherFigure) {
    Summary summary;
    summary.add(sent(Phase::warmup, Outcome::ok));
    summary.add(sent(Phase::warmup, Outcome::http_5xx));
    Record unsent = sent(Phase::warmup, Outcome::not_sent);
    unsent.fired_ns.reset();
    summary.add(unsent);
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.warmup_rows, 3u);
    EXPECT_EQ(figures.warmup_fired, 2u);
    EXPECT_EQ(figures.warmup_failed, 1u);
    EXPECT_EQ(figures.rows, 0u);
    EXPECT_EQ(figures.fired, 0u);
    EXPECT_EQ(figures.output_tokens_all, 0u);
    EXPECT_EQ(figures.tainted_rows, 0u);
    EXPECT_EQ(figures.sending.drift.count, 0u);
    EXPECT_TRUE(figures.urls.empty());
    EXPECT_TRUE(figures.errors.empty());
    EXPECT_EQ(figures.duration_ns, 0);
}

// Rates are of the measurement, which begins with its first due.
TEST(Phases, TheWarmUpTakesNoTime) {
    Summary summary;
    Record record = sent(Phase::profile, Outcome::ok);
    record.due_ns = 1'000'000'000;
    record.fired_ns = record.due_ns;
    record.ended_ns = record.done_ns = 3'000'000'000;
    summary.add(record);
    EXPECT_EQ(summary.figures().duration_ns, 3'000'000'000) << "from time 0";
    summary.add(sent(Phase::warmup, Outcome::ok));
    EXPECT_EQ(summary.figures().duration_ns, 2'000'000'000);
}

TEST(Phases, WhatWasCutOffHasNotFailed) {
    Summary summary;
    Record cut = sent(Phase::profile, Outcome::cancelled);
    summary.add(cut);  // by the user
    cut.censored = true;
    summary.add(cut);
    summary.add(cut);
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.rows, 3u);
    EXPECT_EQ(figures.failed, 1u);
    EXPECT_EQ(figures.censored, 2u);
    EXPECT_EQ(figures.urls.front().failed, 1u);
    ASSERT_EQ(figures.errors.size(), 1u);
    EXPECT_EQ(figures.errors.front().rows, 1u);
}

TEST(Phases, RetriesAreCounted) {
    Summary summary;
    Record again = sent(Phase::profile, Outcome::ok);
    summary.add(again);
    again.attempt = 2;
    summary.add(again);
    EXPECT_EQ(summary.figures().retries, 1u);
}

}  // namespace
}  // namespace driftless
