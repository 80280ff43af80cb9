// Why a row is late, and for how long it was held back: each cause by itself, and which of two is
// named.
#include <gtest/gtest.h>

#include "engine/replay/waiting_rows.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

constexpr Instant at(std::int64_t ms) {
    return Instant{1'000'000'000} + milliseconds(ms);
}

struct Cause {
    LateCause cause;
    Duration held;
    bool operator==(const Cause&) const = default;
};
const Cause no_cause{LateCause::none, Duration{0}};

// One place in flight, and four rows; the ring and the places are really full when they are said
// to be.
class Causes : public testing::Test {
  protected:
    explicit Causes(bool capped_by_host = false)
        : hand_(std::vector<SmallRow>(4), options(capped_by_host)) {
        hand_.arm();
    }
    static ByHand::Options options(bool capped_by_host) {
        ByHand::Options options;
        options.settings.inflight_max = 1;
        options.settings.lanes_max = 1;
        options.settings.capped_by_host = capped_by_host;
        return options;
    }

    /// The only place is taken then.
    void take_place(Instant when) {
        flying_ = &hand_.leave();
        late_.note_fire(when, when);
    }
    /// ... and comes free then; that is read when `note_caps` comes.
    void free_place(Instant when) { hand_.answer(*flying_, when); }

    /// Of a row that was due then, when its turn comes now.
    Cause begin(Instant due, Instant now) {
        row_ = RowUnderway{};
        late_.begin(row_, due, now);
        EXPECT_EQ(row_.turn, now);
        return {row_.cause, Duration{row_.held_ns}};
    }
    /// ... which did not leave then, and does now.
    Cause end(Instant due) {
        late_.end(row_, due);
        return {row_.cause, Duration{row_.held_ns}};
    }
    /// What the record says of a row whose turn has come in time.
    LateCause of(Instant due, Duration drift) {
        EXPECT_EQ(begin(due, due), no_cause);
        return late_.of(row_, due, drift);
    }

    ByHand hand_;
    LateCauses late_{hand_.driver, hand_.settings, hand_.lanes, hand_.ring};
    RowUnderway row_;
    RowUnderway* flying_ = nullptr;
};

class CappedByHost : public Causes {
  protected:
    CappedByHost() : Causes(true) {}
};

TEST_F(Causes, ThereIsNoneWhereNothingWasAmiss) {
    EXPECT_EQ(begin(at(5), at(5)), no_cause);
    EXPECT_EQ(late_.of_caps(), LateCause::none);
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
}

// 5 us count as on time; above that something else ran, or the thread woke late.
TEST_F(Causes, ALateRowWasKeptByOtherWorkOrByALateWake) {
    late_.note_work_end(at(2));
    const Duration late = LateCauses::on_time_max + Duration{1};
    EXPECT_EQ(of(at(1), LateCauses::on_time_max), LateCause::none);
    EXPECT_EQ(of(at(1), late), LateCause::guard);
    EXPECT_EQ(of(at(2), late), LateCause::wake);
    late_.note_fire(at(3), at(4));  // of another row
    EXPECT_EQ(of(at(3), late), LateCause::burst);
    EXPECT_EQ(of(at(1), late), LateCause::guard) << "what held back the first of a burst";
    EXPECT_EQ(of(at(4), late), LateCause::wake);
}

// Rows that were due while the place was taken waited for it until it came free, not until we read
// so; one that is due after that did not.
TEST_F(Causes, APlaceInFlightHoldsBackUntilItComesFree) {
    take_place(at(0));
    EXPECT_EQ(late_.of_caps(), LateCause::inflight);
    free_place(at(10));
    late_.note_caps(at(12));
    EXPECT_EQ(late_.of_caps(), LateCause::none);
    EXPECT_EQ(begin(at(4), at(12)), (Cause{LateCause::inflight, milliseconds(6)}));
    EXPECT_EQ(begin(at(10), at(12)), no_cause);
}

// Nobody has seen its end yet: it holds back until now.
TEST_F(Causes, APlaceThatIsTakenStillHoldsBackUntilTheLastLook) {
    take_place(at(0));
    late_.note_caps(at(7));
    EXPECT_EQ(begin(at(4), at(8)), (Cause{LateCause::inflight, milliseconds(3)}));
}

// The process was stopped from 20 on, with a place free; what filled it afterwards kept no row from
// leaving before that.
TEST_F(Causes, RoomThatNobodyUsedIsNotTimeHeldBack) {
    take_place(at(0));
    free_place(at(10));
    late_.note_caps(at(10));
    take_place(at(50));
    free_place(at(60));
    late_.note_caps(at(60));
    EXPECT_EQ(begin(at(20), at(60)), (Cause{LateCause::inflight, milliseconds(10)}));
    EXPECT_EQ(begin(at(5), at(60)), (Cause{LateCause::inflight, milliseconds(5 + 10)}));
}

TEST_F(CappedByHost, IsALimitThatNobodyAskedFor) {
    take_place(at(0));
    EXPECT_EQ(late_.of_caps(), LateCause::limit);
    late_.note_caps(at(7));
    EXPECT_EQ(begin(at(4), at(8)), (Cause{LateCause::limit, milliseconds(3)}));
}

// As many connections as the host allows are there, though the row may leave.
TEST_F(CappedByHost, LacksLanesByItsLimit) {
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
    hand_.open();
    EXPECT_EQ(late_.of_no_lane(), LateCause::limit);
}

TEST_F(Causes, LanesThatTheUserCappedAreLanes) {
    hand_.open();
    EXPECT_TRUE(hand_.lanes.pool.full());
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
}

// A ring without room holds back until the last look that found none; it goes before all else.
TEST_F(Causes, TheWriterHoldsBackAsLongAsItsRingIsFull) {
    take_place(at(0));
    hand_.fill_ring();
    EXPECT_EQ(late_.of_caps(), LateCause::writer);
    late_.note_caps(at(3));
    (void)hand_.drain();
    EXPECT_EQ(late_.of_caps(), LateCause::inflight);
    late_.note_caps(at(5));
    EXPECT_EQ(begin(at(1), at(5)), (Cause{LateCause::writer, milliseconds(2)}));
    EXPECT_EQ(begin(at(3), at(5)), (Cause{LateCause::inflight, milliseconds(2)}));
}

// A row whose bytes were not there has kept those behind it, too.
TEST_F(Causes, AnUnbuiltRowKeepsThoseBehindIt) {
    late_.note_next(LateCause::prepare, at(1));
    late_.note_next(LateCause::prepare, at(2));
    late_.note_next(LateCause::none, at(4));
    EXPECT_EQ(begin(at(0), at(4)), (Cause{LateCause::prepare, Duration{0}}));
    EXPECT_EQ(begin(at(3), at(4)), (Cause{LateCause::prepare, Duration{0}}));
    EXPECT_EQ(begin(at(4), at(4)), no_cause);
}

// The next row waits for room that bodies take which nobody may send: a limit, with its time.
TEST_F(Causes, BodiesThatNobodyTakesAreALimit) {
    late_.note_next(LateCause::limit, at(1));
    late_.note_next(LateCause::none, at(4));
    EXPECT_EQ(begin(at(1), at(4)), (Cause{LateCause::limit, milliseconds(3)}));
}

// What was due while the loop did not run is late for that, and not for what was unbuilt for it.
TEST_F(Causes, AStopGoesBeforeWhatItEntailed) {
    late_.note_next(LateCause::prepare, at(0));
    late_.note_away(at(10), at(20), at(12));
    late_.note_next(LateCause::none, at(30));
    EXPECT_EQ(begin(at(9), at(30)).cause, LateCause::prepare);
    EXPECT_EQ(begin(at(10), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(19), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(20), at(30)).cause, LateCause::prepare);
}

// Rows that were due in the first stop have not left when the second comes: both are theirs.
TEST_F(Causes, StopsAddUpWhileRowsOfTheFirstAreLeft) {
    late_.note_away(at(10), at(20), at(12));
    late_.note_away(at(22), at(30), at(12));
    EXPECT_EQ(begin(at(12), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(21), at(30)).cause, LateCause::wake);
    late_.note_away(at(40), at(50), at(41));
    EXPECT_EQ(begin(at(35), at(50)).cause, LateCause::none) << "a new one: all had left before";
    EXPECT_EQ(begin(at(40), at(50)).cause, LateCause::wake);
}

// What the user asked for would have delayed it anyway.
TEST_F(Causes, ACapGoesBeforeAStop) {
    take_place(at(0));
    late_.note_away(at(1), at(9), at(4));
    free_place(at(10));
    late_.note_caps(at(12));
    EXPECT_EQ(begin(at(4), at(12)), (Cause{LateCause::inflight, milliseconds(6)}));
}

// A row waits for a lane when its turn has come; then the places are full, too, or the ring is.
TEST_F(Causes, WhatHeldARowBehindItsTurnCounts) {
    EXPECT_EQ(begin(at(1), at(1)), no_cause);
    row_.cause = LateCause::lane;
    take_place(at(2));
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), (Cause{LateCause::inflight, milliseconds(5)}));
}

TEST_F(Causes, WhatHeldARowBeforeItsTurnIsNotCountedAgain) {
    take_place(at(0));
    late_.note_caps(at(6));
    EXPECT_EQ(begin(at(1), at(7)), (Cause{LateCause::inflight, milliseconds(5)}));
    row_.cause = LateCause::lane;
    row_.held_ns = 0;
    EXPECT_EQ(end(at(1)), (Cause{LateCause::lane, Duration{0}}));
}

// A retry has left already: what holds back others holds back nothing of it.
TEST_F(Causes, ARetryIsNotHeldBack) {
    (void)begin(at(1), at(1));
    row_.tries = 1;
    take_place(at(2));
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), no_cause);
}

TEST_F(Causes, WhatNobodyWantedStaysTheCause) {
    take_place(at(1));
    hand_.fill_ring();
    late_.note_caps(at(3));
    EXPECT_EQ(begin(at(1), at(3)), (Cause{LateCause::writer, milliseconds(2)}));
    (void)hand_.drain();
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), (Cause{LateCause::writer, milliseconds(5)}));
}

// No connection more may be open: that was so until it leaves, now.
TEST_F(CappedByHost, HoldsBackARowWithoutALaneUntilItLeaves) {
    const Instant due = hand_.driver.now();
    (void)begin(due, due);
    row_.cause = LateCause::limit;
    hand_.pass(milliseconds(3));
    const Cause cause = end(due);
    EXPECT_EQ(cause.cause, LateCause::limit);
    EXPECT_GE(cause.held, milliseconds(3));
    EXPECT_LT(cause.held, milliseconds(4));
}

// A cause that is known is not replaced by how late the row was.
TEST_F(Causes, ACauseThatIsKnownStands) {
    row_.cause = LateCause::lane;
    EXPECT_EQ(late_.of(row_, at(0), Duration{0}), LateCause::lane);
    EXPECT_EQ(late_.of(row_, at(0), seconds(1)), LateCause::lane);
}

}  // namespace
}  // namespace driftless::sim
