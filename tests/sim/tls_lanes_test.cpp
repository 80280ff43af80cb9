// Lanes with TLS, driven by hand: a row on its way from being bound to being fired, and what
// becomes of it at each step when nothing more is to be sent.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "engine/io/tls.hpp"
#include "engine/replay/lanes.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/sim/small_world.hpp"

namespace driftless::sim {
namespace {

class SecureLane : public testing::Test {
  protected:
    /// The server closes what has been idle for so long.
    explicit SecureLane(Duration keep_alive = seconds(2))
        : driver_{1, Weather{}, server(keep_alive), {}, {}, &world_} {
        CHECK(static_cast<bool>(bodies_.open(4 << 20)));
        (void)lanes_.pool.open_one(0);
        while (lanes_.shelf.count() == 0) {
            turn();
        }
    }
    ~SecureLane() override {
        lanes_.pool.close_all();
        while (lanes_.pool.in_use() > 0) {
            turn();
        }
        loop_.jobs().reap();
        EXPECT_EQ(bodies_.used_bytes(), 0u);
        EXPECT_EQ(driver_.misread(), 0u);
    }

    void turn() {
        (void)driver_.turn({driver_.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver_.collect_stamps(16, nullptr);
        (void)lanes_.connecting.handshake_slice();
        (void)loop_.ready().run(64);
    }

    /// A connection stands.
    void stand() {
        while (lanes_.shelf.count() == 0) {
            (void)lanes_.pool.open_one(0);
            while (lanes_.parts.targets[0].connecting > 0) {
                turn();
            }
        }
    }
    /// The server closes what stands idle.
    void lose() {
        while (lanes_.pool.in_use() > 0) {
            turn();
        }
    }

    /// A row of this many records, bound to the lane; connections have been lost under it before,
    /// or it has been sent on them.
    RowUnderway& bind(std::uint32_t number, std::size_t records, bool late,
                      std::uint16_t losses = 0, std::uint16_t tries = 0) {
        const std::size_t bytes = (records - 1) * record_bytes_max + 1000;
        std::string request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ";
        request += std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x');
        const std::size_t room = seal_room(request.size());
        RowUnderway& row = rows_.emplace_back();
        row.due.request = number;
        row.taken = true;
        row.stage = RowStage::armed;
        row.losses = losses;
        row.tries = tries;
        row.storage = bodies_.take(room + request.size());
        std::memcpy(row.storage + room, request.data(), request.size());
        row.bytes = {row.storage + room, request.size()};
        CHECK(lanes_.pool.bind(0, row, {}, late) != nullptr);
        return row;
    }

    void fire(Lane& lane, RowUnderway& row) {
        lanes_.exchanges.prepare(lane, row, {100, 1 << 20});
        driver_.flush();
        lanes_.exchanges.fired(lane, driver_.now());
        while (lane.state == LaneState::busy) {
            turn();
            (void)lanes_.exchanges.send_rest_slice();
        }
    }

    /// What is to be built again has kept its storage.
    void give_back_what_is_left() {
        while (RowUnderway* row = lanes_.parts.again.pop_front()) {
            ASSERT_NE(row->storage, nullptr);
            bodies_.give(row->storage);
        }
    }

    /// What became of the rows that have ended.
    std::vector<Outcome> ends() {
        std::vector<Outcome> outcomes;
        for (const Event* event = ring_.front(); event != nullptr; event = ring_.front()) {
            if (event->kind == EventKind::end) {
                outcomes.push_back(event->end.outcome);
            }
            ring_.pop();
        }
        return outcomes;
    }

    static mock::CoreOptions server(Duration keep_alive) {
        mock::CoreOptions options;
        options.keep_alive_timeout = keep_alive;
        return options;
    }

    TlsWorld world_{1, fair_tls(), 1};
    SimDriver driver_;
    Loop loop_{driver_, 8};
    ReplaySettings settings_;
    std::deque<RowUnderway> rows_;
    BodyPool bodies_;
    EventRing ring_{1 << 16, 4};
    Lanes lanes_{loop_, world_.endpoints(), settings_, bodies_, ring_};
};

// A row that is all records when it is due leaves at once.
TEST_F(SecureLane, ARowThatIsReadyIsTaken) {
    RowUnderway& row = bind(0, 3, false);
    EXPECT_EQ(lanes_.pool.take_ready(row), nullptr);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(lanes_.pool.seal_slice());
    }
    EXPECT_FALSE(lanes_.pool.seal_slice());
    Lane* lane = lanes_.pool.take_ready(row);
    ASSERT_NE(lane, nullptr);
    fire(*lane, row);
    EXPECT_EQ(lanes_.shelf.count(), 1u);  // it was answered, and the connection is kept
}

// One that is not is late: it goes before what is not due, and comes out when it is ready, with
// what has kept it.
TEST_F(SecureLane, ARowThatIsNotReadyIsLate) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    RowUnderway& other = bind(0, 3, false);
    RowUnderway& row = bind(1, 3, false);
    EXPECT_TRUE(lanes_.pool.seal_slice());  // of the other row, which is the first
    EXPECT_FALSE(lanes_.sealing.next_is_late());
    row.cause = LateCause::prepare;
    row.held_ns = 7;
    lanes_.pool.now_late(row);
    EXPECT_TRUE(lanes_.sealing.next_is_late());
    EXPECT_EQ(lanes_.sealing.late_count(), 1u);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(lanes_.sealing.late_front(), nullptr);
        EXPECT_TRUE(lanes_.pool.seal_slice());
    }
    EXPECT_FALSE(lanes_.sealing.next_is_late());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    RowUnderway& late = *lanes_.sealing.late_front()->tls->row;
    Lane& lane = *lanes_.pool.take_ready(late);
    EXPECT_EQ(late.due.request, 1u);
    EXPECT_EQ(late.cause, LateCause::prepare);
    EXPECT_EQ(late.held_ns, 7);
    EXPECT_EQ(lanes_.sealing.late_count(), 0u);
    fire(lane, late);
    EXPECT_EQ(lanes_.pool.take_ready(other), nullptr);
    lanes_.pool.unbind_all();
}

// Of rows that are late the first to be ready leaves first.
TEST_F(SecureLane, LateRowsLeaveInTheirOrder) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    (void)bind(0, 1, true);
    (void)bind(1, 1, true);
    EXPECT_TRUE(lanes_.pool.seal_slice());
    EXPECT_TRUE(lanes_.pool.seal_slice());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 0u);
    lanes_.pool.unbind_all();
    give_back_what_is_left();
}

// A row that is in flight already, because it is sent again, is the first of those that are late:
// the others may have to wait for its end.
TEST_F(SecureLane, ARetryGoesBeforeRowsThatMayWaitForItsEnd) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    (void)bind(0, 1, true);
    (void)bind(1, 1, true, 0, 1);
    EXPECT_TRUE(lanes_.pool.seal_slice());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 0u);
    EXPECT_TRUE(lanes_.pool.seal_slice());
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 1u);
    EXPECT_EQ(lanes_.sealing.late_count(), 2u);
    lanes_.pool.unbind_all();
    EXPECT_EQ(lanes_.parts.again.count, 2u);
    give_back_what_is_left();
}

class ConnectionsThatEndYoung : public SecureLane {
  protected:
    ConnectionsThatEndYoung() : SecureLane(milliseconds(300)) {}
};

// A connection that ends under a row is made good by another one, a few times; a row that is due
// ends then, one that is not has time.
TEST_F(ConnectionsThatEndYoung, EndARowThatIsDue) {
    for (const bool late : {false, true}) {
        for (const std::uint16_t losses : {Sealing::losses_max - 1, Sealing::losses_max + 0}) {
            stand();
            (void)bind(5, 3, late, losses);
            EXPECT_TRUE(lanes_.pool.seal_slice());
            lose();
            const bool over = late && losses == Sealing::losses_max;
            EXPECT_EQ(lanes_.parts.again.count, over ? 0u : 1u);
            EXPECT_EQ(ends(),
                      over ? std::vector<Outcome>{Outcome::send_failed} : std::vector<Outcome>{});
            give_back_what_is_left();
            EXPECT_EQ(bodies_.used_bytes(), 0u);
        }
    }
}

// One that ends of its age, because the row was held back, is none of those.
TEST_F(SecureLane, ConnectionsThatEndOfTheirAgeEndNoRow) {
    (void)bind(5, 3, true, Sealing::losses_max);
    lose();
    ASSERT_EQ(lanes_.parts.again.count, 1u);
    EXPECT_EQ(lanes_.parts.again.first->losses, Sealing::losses_max);
    EXPECT_TRUE(ends().empty());
    give_back_what_is_left();
}

// When nothing more is to be sent, a row that was due is handed back, one that was not is its
// armer's; no memory is lost, whatever there is of its records, and the lane ends.
TEST_F(SecureLane, NothingIsLeftBoundAfterAStop) {
    for (const bool late : {false, true}) {
        for (int sealed = 0; sealed <= 3; ++sealed) {
            stand();
            (void)bind(5, 3, late);
            for (int i = 0; i < sealed; ++i) {
                EXPECT_TRUE(lanes_.pool.seal_slice());
            }
            lanes_.pool.unbind_all();
            EXPECT_EQ(lanes_.parts.again.count, late ? 1u : 0u);
            EXPECT_EQ(lanes_.sealing.late_count(), 0u);
            EXPECT_EQ(lanes_.sealing.late_front(), nullptr);
            EXPECT_FALSE(lanes_.pool.seal_slice());
            EXPECT_EQ(lanes_.parts.targets[0].bound, 0u);
            give_back_what_is_left();
            EXPECT_EQ(bodies_.used_bytes(), 0u);
            while (lanes_.pool.in_use() > 0) {
                turn();
            }
        }
    }
}

}  // namespace
}  // namespace driftless::sim
