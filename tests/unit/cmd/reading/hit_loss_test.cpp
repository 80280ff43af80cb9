// Every cause of a lost hit, one by one, and that what the records cannot tell is unknown.
#include <gtest/gtest.h>

#include "cmd/reading/prefix_cache.hpp"

namespace driftless {
namespace {

Record turn_of(const char* session, std::int64_t fired, std::int64_t first_token,
               std::int64_t ended, std::int64_t expected, std::int64_t cached) {
    Record record;
    if (session[0] != '\0') {
        record.session = session;
    }
    record.url = "http://a/";
    record.fired_ns = fired;
    record.first_token_ns = first_token;
    record.ended_ns = ended;
    record.expected_cached_tokens = expected;
    record.cached_tokens = cached;
    record.outcome = Outcome::ok;
    return record;
}

HitLossTokens tokens_of(const std::vector<Record>& records) {
    HitLoss loss;
    for (const Record& record : records) {
        loss.add(record);
    }
    return loss.tokens();
}

TEST(HitLoss, OfTheSameServerIsCapacity) {
    const HitLossTokens tokens =
        tokens_of({turn_of("s", 0, 10, 20, 0, 0), turn_of("s", 30, 40, 50, 100, 30)});
    EXPECT_EQ(tokens.rows, 2U);
    EXPECT_EQ(tokens.expected, 100U);
    EXPECT_EQ(tokens.lost, 70U);
    EXPECT_EQ(tokens.capacity, 70U);
}

// Each row has the cause that cost it most, by the place of its record, and the text names it.
TEST(HitLoss, NamesTheRowsAndTheText) {
    Record unsent;
    const HitLossTokens tokens =
        tokens_of({turn_of("s", 0, 10, 20, 0, 0), unsent, turn_of("s", 30, 40, 50, 100, 30)});
    ASSERT_EQ(tokens.rows_lost.size(), 3U);
    EXPECT_EQ(tokens.rows_lost[0], nullptr);
    EXPECT_EQ(tokens.rows_lost[1], nullptr);
    ASSERT_NE(tokens.rows_lost[2], nullptr);
    EXPECT_STREQ(tokens.rows_lost[2]->key, "capacity");
    EXPECT_EQ(hit_loss_text(tokens),
              "70 of 100 expected tokens (70.00 %); 100.0 % to capacity: evicted");
}

TEST(HitLoss, BeforeTheFirstTokenOfTheTurnBeforeIsInFlight) {
    EXPECT_EQ(
        tokens_of({turn_of("s", 0, 31, 60, 0, 0), turn_of("s", 30, 40, 50, 100, 0)}).in_flight,
        100U);
    // At its first token the prompt is in the cache.
    EXPECT_EQ(tokens_of({turn_of("s", 0, 30, 60, 0, 0), turn_of("s", 30, 40, 50, 100, 0)}).capacity,
              100U);
}

TEST(HitLoss, OfAnotherServerIsRouting) {
    Record second = turn_of("s", 30, 40, 50, 100, 0);
    second.url = "http://b/";
    const HitLossTokens tokens = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(tokens.routing, 100U);
    EXPECT_EQ(tokens.servers, 2U);
    Record pod = turn_of("s", 30, 40, 50, 100, 0);
    pod.headers = {{"target-pod", "two"}};
    Record first = turn_of("s", 0, 10, 20, 0, 0);
    first.headers = {{"target-pod", "one"}};
    EXPECT_EQ(tokens_of({first, pod}).routing, 100U);
}

TEST(HitLoss, OfBlocksStandsApart) {
    Record second = turn_of("s", 30, 40, 50, 100, 60);
    second.expected_cached_server = 80;
    const HitLossTokens tokens = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(tokens.blocks, 20U);
    EXPECT_EQ(tokens.capacity, 20U);
    // Its blocks are the smaller ones and hold more: nothing is lost to them, or gained.
    second.expected_cached_server = 120;
    EXPECT_EQ(tokens_of({turn_of("s", 0, 10, 20, 0, 0), second}).capacity, 60U);
    second.cached_tokens = 110;
    const HitLossTokens smaller = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(smaller.capacity, 10U);
    EXPECT_EQ(smaller.gained, 0U);
}

TEST(HitLoss, BetweenSessionsIsUnknownUnlessOnlyCapacityIsLeft) {
    // Alone on one server, and no prefill under way.
    EXPECT_EQ(tokens_of({turn_of("", 0, 10, 20, 0, 0), turn_of("", 30, 40, 50, 100, 0)}).capacity,
              100U);
    // A row had no token yet.
    EXPECT_EQ(tokens_of({turn_of("", 0, 35, 60, 0, 0), turn_of("", 30, 40, 50, 100, 0)}).unknown,
              100U);
    // Two servers.
    Record other = turn_of("", 0, 10, 20, 0, 0);
    other.url = "http://b/";
    EXPECT_EQ(tokens_of({other, turn_of("", 30, 40, 50, 100, 0)}).unknown, 100U);
}

TEST(HitLoss, CountsRowsThatReportAlone) {
    Record silent = turn_of("s", 30, 40, 50, 100, 0);
    silent.cached_tokens.reset();
    Record more = turn_of("t", 30, 40, 50, 100, 120);
    const HitLossTokens tokens = tokens_of({silent, more});
    EXPECT_EQ(tokens.rows, 1U);
    EXPECT_EQ(tokens.lost, 0U);
    EXPECT_EQ(tokens.gained, 20U);
    EXPECT_EQ(tokens_of({}).rows, 0U);
}

}  // namespace
}  // namespace driftless
