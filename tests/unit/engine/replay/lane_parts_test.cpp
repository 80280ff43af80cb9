// How long a server keeps idle connections: what it says, and what its closes show.

#include "engine/replay/lane_parts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace driftless {

namespace {

Instant at(std::int64_t ms) {
    return Instant{} + milliseconds(ms);
}

TEST(IdleLimit, IsTheShortestThatIsSaid) {
    IdleLimit limit;
    EXPECT_FALSE(limit.known());
    EXPECT_EQ(limit.closed_after().ns, INT64_MAX);
    KeepAliveLimits said;
    for (const std::uint32_t timeout : {75u, 5u, 60u, 0u}) {
        said.timeout_s = timeout;
        limit.hear(said);
    }
    EXPECT_EQ(limit.limit, seconds(5));
    EXPECT_EQ(limit.replaced_after(), seconds(4));
    EXPECT_EQ(limit.closed_after(), milliseconds(4500));
}

// A timer closes again and again after the same time; the shortest is kept.
TEST(IdleLimit, IsLearnedFromTwoClosesThatAgree) {
    IdleLimit limit;
    limit.see_close(milliseconds(5050), at(10'000));
    EXPECT_FALSE(limit.known());
    limit.see_close(milliseconds(5002), at(20'000));
    EXPECT_EQ(limit.limit, milliseconds(5002));
    limit.see_close(milliseconds(6000), at(30'000));
    EXPECT_EQ(limit.limit, milliseconds(5002));
}

// A restart closes all at one instant, however long each has been idle.
TEST(IdleLimit, IsNotLearnedFromARestart) {
    IdleLimit limit;
    for (int i = 0; i < 40; ++i) {
        limit.see_close(milliseconds(1700 + i % 2), at(9'000 + i));
        limit.see_close(milliseconds(700), at(9'000 + i));
    }
    EXPECT_FALSE(limit.known());
    limit.see_close(milliseconds(30'000), at(90'000));  // and another one, much later
    EXPECT_FALSE(limit.known());
}

// Sooner than half a second no timer ends: such a server is overloaded, or wants no idle ones.
TEST(IdleLimit, IsNoMomentaryClose) {
    IdleLimit limit;
    for (int i = 0; i < 10; ++i) {
        limit.see_close(IdleLimit::seen_min - Duration{1}, at(1'000 * i));
    }
    EXPECT_FALSE(limit.known());
    limit.see_close(IdleLimit::seen_min, at(20'000));
    limit.see_close(IdleLimit::seen_min, at(21'000));
    EXPECT_EQ(limit.limit, IdleLimit::seen_min);
}

// Which idle lane a row takes, whose connection it is, and when it has stood for too long.

constexpr Instant start{1'000'000'000};

class Shelf : public testing::Test {
  protected:
    /// An idle lane to target 0, whose last answer ended so long after the start.
    Lane& stand(Duration after, bool used = true) {
        lanes_.push_back(std::make_unique<Lane>());
        Lane& lane = *lanes_.back();
        lane.state = LaneState::idle;
        lane.used = used;
        lane.idle_since = start + after;
        shelf_.put(lane);
        return lane;
    }
    ConnectionState take(Lane& lane, const LaneWish& wish) {
        shelf_.remove(lane);
        return shelf_.claim(lane, wish).state;
    }
    void give_back(Lane& lane, Duration after) {
        lane.used = true;
        lane.idle_since = start + after;
        shelf_.put(lane);
    }

    std::vector<std::unique_ptr<Lane>> lanes_;
    LaneShelf shelf_{2, 4};
};

TEST_F(Shelf, GivesTheYoungest) {
    (void)stand(milliseconds(1));
    Lane& young = stand(milliseconds(2));
    EXPECT_EQ(shelf_.find(0, {}, start + seconds(1)), &young);
    EXPECT_EQ(shelf_.find(1, {}, start + seconds(1)), nullptr);
    EXPECT_EQ(shelf_.count(), 2u);
    EXPECT_EQ(shelf_.count(1), 0u);
}

// A retry wants a connection that nobody has used.
TEST_F(Shelf, GivesAFreshOneWhereItIsAskedFor) {
    Lane& fresh = stand(milliseconds(1), false);
    (void)stand(milliseconds(2));
    EXPECT_EQ(shelf_.find(0, {.fresh = true}, start + seconds(1)), &fresh);
    shelf_.remove(fresh);
    EXPECT_EQ(shelf_.find(0, {.fresh = true}, start + seconds(1)), nullptr);
}

// Of a server that closes after 4 s: replaced after 3 s, not used after 3.5 s, nor for a row that
// is due by then.
TEST_F(Shelf, LanesGrowOld) {
    shelf_.limit(0).hear({.timeout_s = 4, .max = {}});
    Lane& lane = stand(Duration{0});
    EXPECT_FALSE(shelf_.age(0, start + milliseconds(2999)));
    EXPECT_TRUE(shelf_.age(0, start + milliseconds(3000)));
    EXPECT_FALSE(shelf_.age(0, start + milliseconds(3000)));
    EXPECT_EQ(shelf_.oldest_ageing(0), &lane);
    EXPECT_EQ(shelf_.young(0), 0u);
    EXPECT_EQ(shelf_.ageing(0), 1u);
    EXPECT_EQ(shelf_.find(0, {}, start + milliseconds(3499)), &lane);
    EXPECT_EQ(shelf_.find(0, {.lead = milliseconds(1)}, start + milliseconds(3499)), nullptr);
    EXPECT_EQ(shelf_.over(0, start + milliseconds(3499)), nullptr);
    EXPECT_EQ(shelf_.find(0, {}, start + milliseconds(3500)), nullptr);
    EXPECT_EQ(shelf_.over(0, start + milliseconds(3500)), &lane);
}

// A session keeps its connection; others take it only where there is no other.
TEST_F(Shelf, ASessionHasAHome) {
    Lane& home = stand(milliseconds(1));
    EXPECT_EQ(take(home, {.session = 2}), ConnectionState::reused);
    give_back(home, milliseconds(10));
    Lane& other = stand(milliseconds(2));
    const Instant now = start + seconds(1);
    EXPECT_EQ(shelf_.find(0, {.session = 2}, now), &home);
    EXPECT_EQ(shelf_.find(0, {.session = 3}, now), &other);
    shelf_.remove(other);
    EXPECT_EQ(shelf_.find(0, {.session = 3}, now), &home);
    EXPECT_EQ(take(home, {.session = 2}), ConnectionState::sticky);
}

// Another session took it: the first one moves, and says so.
TEST_F(Shelf, ASessionThatLostItsHomeMoves) {
    Lane& home = stand(milliseconds(1));
    (void)take(home, {.session = 2});
    give_back(home, milliseconds(10));
    EXPECT_EQ(take(home, {.session = 3}), ConnectionState::reused);
    Lane& next = stand(milliseconds(2));
    EXPECT_EQ(take(next, {.session = 2}), ConnectionState::moved);
    give_back(next, milliseconds(20));
    EXPECT_EQ(shelf_.find(0, {.session = 2}, start + seconds(1)), &next);
}

// The last row of a session went elsewhere, because its home was busy at first: that waits for
// nobody now.
TEST_F(Shelf, AHomeThatNobodyWaitsForIsUnwanted) {
    Lane& home = stand(milliseconds(1));
    (void)take(home, {.session = 2});
    Lane& other = stand(milliseconds(2));
    shelf_.remove(other);
    give_back(home, milliseconds(10));
    const LaneShelf::Claim claim = shelf_.claim(other, {.session = 2, .last = true});
    EXPECT_EQ(claim.state, ConnectionState::moved);
    EXPECT_EQ(claim.unwanted, &home);
    EXPECT_EQ(home.session, no_session);
}

TEST_F(Shelf, SparesAgeingOnesFirstAndOwnedOnesLast) {
    shelf_.limit(0).hear({.timeout_s = 4, .max = {}});
    Lane& old = stand(Duration{0});
    Lane& owned = stand(seconds(1));
    (void)take(owned, {.session = 1});
    give_back(owned, seconds(1));
    Lane& young = stand(seconds(2));
    EXPECT_TRUE(shelf_.age(0, start + seconds(3)));
    EXPECT_EQ(shelf_.oldest(0), &old);
    shelf_.remove(old);
    EXPECT_EQ(shelf_.oldest(0), &young);
    shelf_.remove(young);
    EXPECT_EQ(shelf_.oldest(0), &owned);
}

// A lane that is closed opens again, and nothing else.
TEST(LaneState, FollowsThePicture) {
    for (const LaneState to : {LaneState::closed, LaneState::idle, LaneState::bound,
                               LaneState::busy, LaneState::closing}) {
        EXPECT_FALSE(may_follow(LaneState::closed, to));
        EXPECT_FALSE(may_follow(to, to));
    }
    EXPECT_TRUE(may_follow(LaneState::closed, LaneState::connecting));
    EXPECT_FALSE(may_follow(LaneState::connecting, LaneState::busy));
    EXPECT_FALSE(may_follow(LaneState::busy, LaneState::bound));
    EXPECT_FALSE(may_follow(LaneState::closing, LaneState::idle));
}

// Buckets of tokens: full at first, refilled evenly, and above 0 from the very nanosecond on.

constexpr Instant begin{5'000'000'000};

constexpr Instant at_ms(std::int64_t ms) {
    return begin + milliseconds(ms);
}

TEST(TokenBucket, IsAlwaysOpenWithoutABound) {
    TokenBucket bucket(TokenRate{});
    bucket.take(UINT32_MAX, begin);
    EXPECT_LT(bucket.opens(), Instant{});
}

// 100 tokens a second: the last of them leaves at once, and then it is refilled by one in 10 ms.
TEST(TokenBucket, HoldsThePeriodsTokens) {
    TokenBucket bucket(TokenRate{100, seconds(1)});
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(99, begin);
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(1, begin);
    EXPECT_EQ(bucket.opens(), begin + Duration{1});  // at 0 it is not above 0
    bucket.take(1, at_ms(5));                        // a half
    EXPECT_EQ(bucket.opens(), at_ms(10) + Duration{1});
}

// Whatever its size it leaves on what there is, and those behind it wait for all of it.
TEST(TokenBucket, GoesIntoDebt) {
    TokenBucket bucket(TokenRate{100, seconds(1)});
    bucket.take(1'000, begin);
    EXPECT_EQ(bucket.opens(), begin + seconds(9) + Duration{1});
    bucket.take(50, begin + seconds(30));  // full since long
    EXPECT_LT(bucket.opens(), begin + seconds(30));
    bucket.take(50, begin + seconds(30));
    EXPECT_EQ(bucket.opens(), begin + seconds(30) + Duration{1});
}

// Three tokens in a nanosecond's seventh: what is left of a nanosecond is not lost.
TEST(TokenBucket, LosesNoPartOfANanosecond) {
    TokenBucket bucket(TokenRate{7, Duration{1'000}});
    bucket.take(7, begin);
    for (int i = 0; i < 7'000; ++i) {
        bucket.take(1, bucket.opens());
    }
    // 7,000 tokens behind the first one are 1,000,000 ns; each left a nanosecond late at most.
    EXPECT_GE(bucket.opens(), begin + Duration{1'000'001});
    EXPECT_LE(bucket.opens(), begin + Duration{1'000'001 + 1});
}

// A debt of more than 290 years is one for ever.
TEST(TokenBucket, IsNeverFullAgainBehindTooMuch) {
    TokenBucket bucket(TokenRate{1, seconds(3600)});
    bucket.take(UINT32_MAX, begin);
    EXPECT_EQ(bucket.opens(), never);
}

// Both have to be above 0; of the input a cache may hold a part.
TEST(TokenBudgets, CountInputAndOutput) {
    BudgetRules rules{.input = {100, seconds(1)}, .output = {10, seconds(1)}};
    TokenBudgets all(rules);
    all.look(begin);
    all.take(100, 60, 1, begin);
    EXPECT_FALSE(all.open());
    all.look(begin + Duration{1});
    EXPECT_TRUE(all.open());
    all.take(1, 0, 9, begin + Duration{1});
    EXPECT_FALSE(all.open());

    rules.uncached = true;
    TokenBudgets uncached(rules);
    uncached.look(begin);
    uncached.take(100, 60, 1, begin);
    EXPECT_TRUE(uncached.open());
    uncached.take(100, 40, 1, begin);
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
    uncached.take(5, 9, 1, begin + Duration{1});  // no less than nothing
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
}

}  // namespace

}  // namespace driftless
