// What has come is read in slices: before what is due where it has waited for long, and never so
// that nothing else gets a turn.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/replay/between_fires.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

constexpr Duration long_wait = microseconds(100);

struct Reads : ByHand {
    explicit Reads(std::uint32_t rows = 1, const Options& options = {})
        : ByHand(std::vector<SmallRow>(rows), options) {}
    explicit Reads(const Options& options) : Reads(1, options) {}

    /// A connect has ended, and nobody has looked for so long.
    void leave_unread(Duration length) {
        while (reading.slice()) {
        }
        CHECK(lanes.pool.open_one(0));
        (void)loop.ready().run(64);
        pass(milliseconds(1));  // it has come within this
        (void)driver.unread_since(driver.now());
        pass(length);
    }

    /// A turn of the loop that only reads.
    bool read() {
        (void)reading.is_overdue(driver.now());
        return reading.slice();
    }
    /// Requests have left on connections of their own, and their answers are there, unread.
    void leave_answers(int count) {
        arm();
        for (int i = 0; i < count; ++i) {
            open();
        }
        for (int i = 0; i < count; ++i) {
            Lane& lane = *lanes.pool.take_idle(0, {});
            lanes.exchanges.prepare(lane, take(), {100, 1 << 20});
            (void)driver.flush();
            lanes.exchanges.fired(lane, driver.now());
            while (lane.unsent() > 0) {
                turn();
            }
        }
        driver.stand_still(seconds(1));
    }

    Reading reading{driver, loop, lanes};
};

// A timer that notes when it was called.
struct Deadline {
    Timer timer;
    Instant called = never;
    explicit Deadline(Loop& loop, Instant at) {
        timer.owner = this;
        timer.handler = [](Timer& self, Instant now) {
            static_cast<Deadline*>(self.owner)->called = now;
        };
        loop.timers().set(timer, at);
    }
};

TEST(Reading, NothingIsOverdueWhereNothingCame) {
    Reads reads;
    reads.pass(seconds(1));
    EXPECT_FALSE(reads.reading.is_overdue(reads.driver.now()));
    EXPECT_FALSE(reads.reading.slice());
}

TEST(Reading, WhatHasWaitedIsOverdueUntilItIsRead) {
    Reads reads;
    reads.leave_unread(long_wait);
    EXPECT_TRUE(reads.reading.is_overdue(reads.driver.now()));
    EXPECT_TRUE(reads.reading.slice());
    EXPECT_FALSE(reads.reading.is_overdue(reads.driver.now()));
}

// A slice that went first took 1 ms: all else gets a turn, and what is due gets as much time.
TEST(Reading, TakesHalfOfTheTimeAtMost) {
    Reads reads;
    reads.leave_unread(long_wait);
    const Instant to = reads.driver.now();
    reads.reading.note_first(to - milliseconds(1), to);
    EXPECT_FALSE(reads.reading.is_overdue(to + milliseconds(2))) << "one turn is not its";
    EXPECT_FALSE(reads.reading.is_overdue(to + milliseconds(1) - Duration{1}));
    EXPECT_TRUE(reads.reading.is_overdue(to + milliseconds(1)));
}

// A deadline comes when all is read that came before it: those bytes keep to it.
TEST(Reading, DeadlinesComeBehindWhatWasRead) {
    Reads reads;
    reads.leave_unread(long_wait);
    const Instant now = reads.driver.now();
    const Deadline deadline(reads.loop, now - microseconds(50));
    const Deadline before(reads.loop, now - milliseconds(1));
    EXPECT_TRUE(reads.reading.step(now, never, Duration{0}));
    EXPECT_EQ(deadline.called, never);
    for (int i = 0; i < 100 && deadline.called == never; ++i) {
        (void)reads.reading.step(reads.driver.now(), never, Duration{0});
    }
    EXPECT_NE(deadline.called, never);
    EXPECT_NE(before.called, never) << "nothing had come by then";
}

// The process was stopped right behind an entry of the kernel that had brought nothing: the next
// look does not enter, and what came meanwhile is not seen by it.
TEST(Reading, DeadlinesOfAStopComeBehindWhatWasRead) {
    for (int looks = 0; looks < 4; ++looks) {
        ByHand::Options options;
        options.weather.stuck_flag = 1;
        Reads reads(options);
        reads.open();
        CHECK(reads.lanes.pool.open_one(0));
        (void)reads.loop.ready().run(64);
        (void)reads.driver.flush();
        for (int i = 0; i < looks; ++i) {
            (void)reads.reading.slice();
        }
        const Deadline deadline(reads.loop, reads.driver.now() + seconds(1));
        reads.driver.stand_still(seconds(2));
        for (int i = 0; i < 10 && reads.lanes.shelf.count() < 2; ++i) {
            EXPECT_EQ(deadline.called, never) << "after " << looks << " looks";
            (void)reads.reading.step(reads.driver.now(), never, Duration{0});
        }
        EXPECT_EQ(reads.lanes.shelf.count(), 2u);
        for (int i = 0; i < 10 && deadline.called == never; ++i) {
            (void)reads.reading.step(reads.driver.now(), never, Duration{0});
        }
        EXPECT_NE(deadline.called, never);
    }
}

// The rest of a large body takes 20 us: it goes where that is free before the guard of a row.
TEST(Reading, TheRestOfABodyGoesWhereThereIsTimeForIt) {
    Reads reads;
    reads.open();
    reads.arm();
    const std::string request =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x');
    Lane& lane = *reads.lanes.pool.take_idle(0, {});
    RowUnderway& row = reads.take();
    reads.armer.give_back(row);
    row.bytes = request;
    reads.lanes.exchanges.prepare(lane, row, {100, 1 << 20});
    (void)reads.driver.flush();
    reads.lanes.exchanges.fired(lane, reads.driver.now());
    for (int i = 0; i < 100 && !lane.rest_queued; ++i) {
        reads.turn();
    }
    ASSERT_TRUE(lane.rest_queued);
    const std::size_t first = lane.exchange.accepted;
    const Duration guard = microseconds(50);
    const Instant now = reads.driver.now();
    EXPECT_FALSE(reads.reading.step(now, now + guard + microseconds(20), guard));
    EXPECT_TRUE(lane.rest_queued);
    const Instant later = reads.driver.now();
    EXPECT_TRUE(reads.reading.step(later, later + guard + microseconds(20) + Duration{1}, guard));
    EXPECT_FALSE(lane.rest_queued);
    for (int i = 0; i < 100 && lane.exchange.accepted == first; ++i) {
        reads.turn();
    }
    EXPECT_GT(lane.exchange.accepted, first);
}

// A backlog without end must not hide all else: that gets a turn behind every 16th read. Where
// nothing was left to read it had one, and the count begins anew.
TEST(Reading, GivesWayBehindEvery16thRead) {
    Reads reads;
    for (const std::uint32_t last : {10u, 33u}) {
        for (int i = 0; i < 100 && reads.reading.slice(); ++i) {
            reads.pass(milliseconds(1));
        }
        EXPECT_FALSE(reads.reading.slice());
        for (std::uint32_t read = 1; read <= last; ++read) {
            CHECK(reads.lanes.pool.open_one(0));
            reads.pass(milliseconds(1));  // its connect has ended within this
            EXPECT_TRUE(reads.reading.slice());
            EXPECT_EQ(reads.reading.gives_way(), read % 16 == 0) << read;
        }
        reads.pass(milliseconds(1));
    }
}

// 16 stamps take 20 us: they are taken where that is free before the guard of a row.
TEST(Reading, StampsAreTakenWhereThereIsTimeForThem) {
    Reads reads;
    reads.open();
    reads.arm();
    Lane& lane = *reads.lanes.pool.take_idle(0, {});
    RowUnderway& row = reads.take();
    reads.armer.give_back(row);
    row.bytes = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    reads.lanes.exchanges.prepare(lane, row, {100, 1 << 20});
    (void)reads.driver.flush();
    reads.lanes.exchanges.fired(lane, reads.driver.now());
    reads.pass(milliseconds(1));
    const Duration guard = microseconds(50);
    const Instant now = reads.driver.now();
    EXPECT_FALSE(reads.reading.collect_stamps(now, now + guard + microseconds(20), guard));
    EXPECT_FALSE(lane.exchange.wire_known);
    const Instant due = now + guard + microseconds(20) + Duration{1};
    EXPECT_TRUE(reads.reading.collect_stamps(now, due, guard));
    EXPECT_TRUE(lane.exchange.wire_known);
    EXPECT_FALSE(reads.reading.collect_stamps(now, never, guard)) << "there are no more";
}

// Three answers are there. What waits for the first may leave before its lane is done with, and
// before the next is read.
TEST(Reading, AnAnswerEndsItsSlice) {
    Reads reads(3);
    reads.leave_answers(3);
    for (std::uint32_t done = 0; done < 3; ++done) {
        EXPECT_FALSE(reads.reading.settle());
        while (reads.lanes.in_flight.answered().empty()) {
            ASSERT_TRUE(reads.reading.slice());
        }
        EXPECT_EQ(reads.lanes.in_flight.answered().count, 1u);
        EXPECT_EQ(reads.lanes.in_flight.settling(), 1u);
        EXPECT_EQ(reads.lanes.shelf.count(0), done);
        reads.lanes.in_flight.answered().pop_front()->told = true;
        EXPECT_TRUE(reads.reading.settle());
        EXPECT_EQ(reads.lanes.in_flight.settling(), 0u);
        EXPECT_EQ(reads.lanes.in_flight.ended().count, done + 1);
        EXPECT_EQ(reads.lanes.shelf.count(0), done + 1);
    }
}

// The host sleeps before each of three answers is read: the last one has waited for all sleeps.
// Behind the backlog the count begins anew.
TEST(Reading, SleepsOfOneBacklogAddUp) {
    Reads reads(3);
    reads.leave_answers(3);
    const HostSleep& sleep = reads.lanes.parts.sleep;
    Duration slept{0};
    for (std::int64_t answer = 1; answer <= 3; ++answer) {
        reads.driver.suspend(seconds(answer));
        slept = slept + seconds(answer);
        while (reads.lanes.in_flight.answered().empty()) {
            ASSERT_TRUE(reads.read());
        }
        EXPECT_EQ(sleep.length, slept);
        reads.lanes.in_flight.answered().pop_front()->told = true;
        EXPECT_TRUE(reads.reading.settle());
    }
    std::vector<std::int64_t> waited;
    for (const Event& event : reads.drain()) {
        if (event.kind == EventKind::end) {
            waited.push_back(event.waited_ns);
        }
    }
    ASSERT_EQ(waited.size(), 3u);
    EXPECT_GE(waited.front(), seconds(1).ns);
    EXPECT_LT(waited.front(), seconds(3).ns);
    EXPECT_GE(waited.back(), slept.ns);

    reads.pass(milliseconds(1));
    EXPECT_FALSE(reads.read()) << "all was read";
    reads.pass(milliseconds(1));
    reads.driver.suspend(seconds(1));
    (void)reads.read();
    EXPECT_EQ(sleep.length, seconds(1));
}

}  // namespace
}  // namespace driftless::sim
