// Rows that have left: how many, when a place among them came free, and how each ended.
#include <gtest/gtest.h>

#include <utility>

#include "engine/replay/lane_parts.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

constexpr Instant at(std::int64_t ms) {
    return Instant{1'000'000'000} + milliseconds(ms);
}

struct Flying : ByHand {
    explicit Flying(std::uint32_t inflight_max = 2)
        : ByHand(std::vector<SmallRow>(6), options(inflight_max)) {
        arm();
    }
    static Options options(std::uint32_t inflight_max) {
        Options options;
        options.settings.inflight_max = inflight_max;
        return options;
    }
    InFlight& rows = lanes.in_flight;
};

TEST(InFlight, CountsARowOnceHoweverOftenItIsSent) {
    Flying flying;
    RowUnderway& row = flying.leave();
    EXPECT_EQ(flying.rows.count(), 1u);
    row.enter(RowStage::again);
    row.tries = 1;
    row.enter(RowStage::waiting);
    row.enter(RowStage::in_flight);
    flying.rows.add(row);
    EXPECT_EQ(flying.rows.count(), 1u);
    flying.answer(row, at(1));
    EXPECT_EQ(flying.rows.count(), 0u);
}

TEST(InFlight, IsFullAtItsLimit) {
    Flying flying;
    for (const bool full : {false, true}) {
        EXPECT_TRUE(flying.rows.has_room());
        (void)flying.leave();
        EXPECT_EQ(flying.rows.full(), full);
    }
    EXPECT_FALSE(flying.rows.has_room());
}

// There is a place, but nowhere to say how the row ended.
TEST(InFlight, HasNoRoomWhereTheRingHasNone) {
    Flying flying;
    flying.fill_ring();
    EXPECT_FALSE(flying.rows.full());
    EXPECT_FALSE(flying.rows.has_room());
    (void)flying.drain();
    EXPECT_TRUE(flying.rows.has_room());
}

// Two answers are read together, the later one first: a place was free since the earlier one. When
// all were taken again, it counts anew.
TEST(InFlight, APlaceIsFreeSinceTheFirstAnswerThatWasReadTogether) {
    Flying flying;
    RowUnderway* first = &flying.leave();
    RowUnderway* second = &flying.leave();
    flying.answer(*second, at(8));
    EXPECT_EQ(flying.rows.freed(), at(8));
    flying.answer(*first, at(5));
    EXPECT_EQ(flying.rows.freed(), at(5));
    first = &flying.leave();
    second = &flying.leave();
    flying.answer(*first, at(20));
    EXPECT_EQ(flying.rows.freed(), at(20));
    flying.answer(*second, at(21));
    EXPECT_EQ(flying.rows.freed(), at(20));
}

// The schedule is told what the record is: when it ended, and whether with a whole answer.
TEST(InFlight, TellsTheScheduleHowARowEnded) {
    struct Case {
        Outcome outcome;
        std::uint16_t status;
        bool answered;
    };
    for (const Case& each : {Case{Outcome::ok, 200, true}, Case{Outcome::ok, 500, false},
                             Case{Outcome::truncated, 200, false}}) {
        Flying flying;
        RowUnderway& row = flying.leave();
        Event event;
        event.kind = EventKind::end;
        event.request = row.due.request;
        event.stamp_ns = at(3).ns;
        event.end.outcome = each.outcome;
        event.end.status = each.status;
        if (each.answered) {
            flying.rows.answered(row, at(3));
        }
        EXPECT_EQ(flying.rows.settling(), each.answered ? 1u : 0u);
        EXPECT_EQ(flying.rows.answered().first, each.answered ? &row : nullptr);
        flying.rows.end(row, event, at(2));
        EXPECT_EQ(flying.rows.settling(), 0u);
        EXPECT_TRUE(flying.rows.answered().empty());
        EXPECT_EQ(flying.rows.ended().pop_front(), &row);
        EXPECT_EQ(flying.rows.ended().pop_front(), nullptr);
        EXPECT_EQ(row.stage, RowStage::ended);
        EXPECT_EQ(row.ended, at(3));
        EXPECT_EQ(row.answered, each.answered);
        EXPECT_EQ(flying.ends(), std::vector<Outcome>{each.outcome});
    }
}

// One that never left is introduced first, and takes no place; of one that has left the end is all.
TEST(InFlight, EndsRowsWithoutALane) {
    Flying flying;
    RowUnderway& unsent = flying.take();
    flying.armer.give_back(unsent);
    flying.rows.end_without_lane(unsent, Outcome::not_sent);
    std::vector<Event> events = flying.drain();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].kind, EventKind::armed);
    EXPECT_EQ(events[0].stamp_ns, Event::never_armed);
    EXPECT_EQ(events[0].request, unsent.due.request);
    EXPECT_EQ(events[1].end.outcome, Outcome::not_sent);
    EXPECT_EQ(events[1].end.stale_retries, 0u);

    RowUnderway& retry = flying.leave();
    retry.tries = 1;
    flying.rows.end_without_lane(retry, Outcome::connect_failed, 111);
    events = flying.drain();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, retry.due.request);
    EXPECT_EQ(events[0].end.outcome, Outcome::connect_failed);
    EXPECT_EQ(events[0].end.sys_errno, 111);
    EXPECT_EQ(events[0].end.stale_retries, 1u);
    EXPECT_EQ(events[0].waited_ns, Event::no_wait);
    EXPECT_EQ(flying.rows.count(), 0u);
    EXPECT_EQ(flying.rows.ended().count, 2u);
}

// At most 65,534 segments fit; the number above says that nobody knows.
TEST(InFlight, SaysWhatWasSentAgain) {
    RowUnderway row;
    EXPECT_EQ(end_info(row, Outcome::ok, 0).retransmits, retransmits_unknown);
    row.resends.known = true;
    row.resends.lost = true;
    EXPECT_TRUE(end_info(row, Outcome::ok, 0).request_lost);
    for (const auto& [segments, said] :
         {std::pair{0u, 0u}, {65'533u, 65'533u}, {65'534u, 65'534u}, {65'535u, 65'534u}}) {
        row.resends.segments = segments;
        EXPECT_EQ(end_info(row, Outcome::ok, 0).retransmits, said);
    }
}

}  // namespace
}  // namespace driftless::sim
