// RoomTimes: since when, and for how long, one more row might have been in flight.
#include <gtest/gtest.h>

#include "engine/replay/lane_parts.hpp"

namespace driftless {
namespace {

constexpr Instant at(std::int64_t ms) {
    return Instant{} + milliseconds(ms);
}

TEST(RoomTimes, ThereIsRoomUntilTheFirstFill) {
    RoomTimes room;
    EXPECT_EQ(room.between(at(10), at(30)), milliseconds(20));
    room.fill(at(20));
    EXPECT_EQ(room.between(at(10), at(30)), milliseconds(10));
    EXPECT_EQ(room.between(at(20), at(30)), Duration{0});
}

// Full from 10 to 20 and from 50 to 60: a row that was due at 15 had room for 30 ms of its wait.
TEST(RoomTimes, WhatLiesBetweenAnEndAndAFillIsRoom) {
    RoomTimes room;
    room.fill(at(10));
    room.free(at(20));
    room.fill(at(50));
    room.free(at(60));
    EXPECT_EQ(room.between(at(15), at(60)), milliseconds(30));
    EXPECT_EQ(room.between(at(30), at(60)), milliseconds(20));
    EXPECT_EQ(room.between(at(50), at(60)), Duration{0});
}

// A fill took one place, and another answer had come before it: there was room all along.
TEST(RoomTimes, AnEndBeforeTheFillGoesOn) {
    RoomTimes room;
    room.fill(at(10));
    room.free(at(20));
    room.fill(at(50));
    room.free(at(45));
    room.fill(at(70));
    EXPECT_EQ(room.between(at(0), at(80)), milliseconds(10 + 50));
    room.free(at(15));  // and one more, which came before the first
    room.fill(at(90));
    EXPECT_EQ(room.between(at(0), at(90)), milliseconds(10 + 75));
}

// A short stretch does not count, however many there are.
TEST(RoomTimes, ShortStretchesAreNone) {
    for (const std::int64_t more_ns : {-1, 0, 1}) {
        RoomTimes room;
        room.fill(at(0));
        Instant now = at(1);
        for (int i = 0; i < 10; ++i) {
            room.free(now);
            now = now + RoomTimes::unseen_max + Duration{more_ns};
            room.fill(now);
            now = now + milliseconds(1);
        }
        const Duration each = RoomTimes::unseen_max + Duration{1};
        EXPECT_EQ(room.between(at(0), now).ns, more_ns > 0 ? 10 * each.ns : 0) << more_ns;
    }
}

// What is too long ago to be known counts as room: a row is then held to be late by us.
TEST(RoomTimes, WhatIsForgottenCounts) {
    const auto full_each = static_cast<std::int64_t>(RoomTimes::stretches_max);
    for (const std::int64_t more : {-1, 0, 1}) {
        RoomTimes room;
        room.fill(at(0));
        std::int64_t now = 0;
        for (std::int64_t i = 0; i < full_each + more; ++i) {  // 10 ms full, 10 ms not
            room.free(at(now + 10));
            now += 20;
            room.fill(at(now));
        }
        room.free(at(now + 10));
        const std::int64_t rooms = 10 * (full_each + more);
        EXPECT_EQ(room.between(at(0), at(now)), milliseconds(rooms + (more > 0 ? 10 : 0))) << more;
    }
}

}  // namespace
}  // namespace driftless
