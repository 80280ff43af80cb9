// Which idle lane a row takes, whose connection it is, and when it has stood for too long.
#include "engine/replay/lane_shelf.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
