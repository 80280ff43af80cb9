// What the summary makes of requests that were abandoned. Expectations are worked out by hand.
#include <gtest/gtest.h>

#include "proto/figures/summary.hpp"

namespace driftless {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// Fired at 0; two tokens, 20 ms apart.
Record with_tokens(Outcome outcome, std::int64_t ttft_ns) {
    Record record{.fired_ns = 0, .outcome = outcome};
    record.first_token_ns = record.ttft_ns = record.ttft_due_ns = ttft_ns;
    record.last_token_ns = record.e2e_ns = ttft_ns + 20 * ms;
    record.ended_ns = ttft_ns + 21 * ms;
    record.tpot_ns = 20e6;
    record.input_length = 100;
    record.output_tokens = 2;
    return record;
}

// What clients give up has not failed: its first token counts, and nothing behind that.
TEST(Abandoned, IsCountedApart) {
    Summary summary(GoodputRules{{{}, "", {15 * ms, std::nullopt, std::nullopt}}});
    summary.add(with_tokens(Outcome::ok, 10 * ms));
    summary.add(with_tokens(Outcome::abandoned, 14 * ms));
    Record silent{.fired_ns = 0, .outcome = Outcome::abandoned};
    for (const std::int64_t waited_ns : {5 * ms, 16 * ms}) {
        silent.ended_ns = waited_ns;
        summary.add(silent);
    }
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(f.rows, 4u);
    EXPECT_EQ(f.failed, 0u);
    EXPECT_EQ(f.abandoned.requests, 3u);
    EXPECT_EQ(f.abandoned.no_first_token, 2u);
    EXPECT_EQ(f.abandoned.undecided, 2u);  // the last one had waited for longer than it may take
    EXPECT_EQ(f.decided(), 2u);
    EXPECT_EQ(f.abandoned.input_tokens, 100u);
    EXPECT_EQ(f.abandoned.output_tokens, 2u);
    EXPECT_EQ(f.output_tokens, 2u);
    EXPECT_EQ(f.ended_sent(), 1u);
    EXPECT_EQ(f.ttft.count, 2u);
    EXPECT_EQ(f.ttft.max, 14e6);
    EXPECT_EQ(f.e2e.count, 1u);
    EXPECT_EQ(f.tpot.count, 1u);
    EXPECT_TRUE(f.errors.empty());
}

}  // namespace
}  // namespace driftless
