// One lane, driven by hand: what happens between two turns of its coroutine.
#include "engine/replay/lanes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string_view>

#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {
namespace {

class OneLane : public testing::Test {
  protected:
    OneLane() {
        CHECK(static_cast<bool>(bodies_.open(1 << 20)));
        (void)lanes_.pool.open_one(0);
        while (lanes_.shelf.count() == 0) {
            turn();
            resume(64);
        }
    }
    ~OneLane() override {
        lanes_.pool.close_all();
        while (lanes_.pool.in_use() > 0) {
            turn();
            resume(64);
        }
        loop_.jobs().reap();
    }

    void turn() {
        (void)driver_.turn({driver_.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver_.collect_stamps(16, nullptr);
    }
    void resume(std::size_t most) { (void)loop_.ready().run(most); }

    /// Fires as the pacer does.
    Lane& fire(std::uint32_t number, std::string_view request) {
        Lane& lane = *lanes_.pool.take_idle(0, {});
        RowUnderway& row = rows_.emplace_back();
        row.due.request = number;
        row.taken = true;
        row.stage = RowStage::armed;
        row.storage = bodies_.take(request.size());
        std::memcpy(row.storage, request.data(), request.size());
        row.bytes = {row.storage, request.size()};
        lanes_.exchanges.prepare(lane, row, {100, 1 << 20});
        driver_.flush();
        lanes_.exchanges.fired(lane, driver_.now());
        return lane;
    }

    std::uint32_t rows_ended() {
        std::uint32_t ended = 0;
        for (const Event* event = ring_.front(); event != nullptr; event = ring_.front()) {
            ended += event->kind == EventKind::end ? 1 : 0;
            ring_.pop();
        }
        return ended;
    }

    SimDriver driver_{1, Weather{}, mock::CoreOptions{}};
    Loop loop_{driver_, 8};
    ReplaySettings settings_;
    std::deque<RowUnderway> rows_;
    BodyPool bodies_;
    EventRing ring_{1 << 16, 4};
    Lanes lanes_{loop_, {Endpoint{}}, settings_, bodies_, ring_};
};

// A lane is idle again before its coroutine knows it. Where it is fired on at once, and the answer
// and the end of the connection come before the coroutine does, the row still gets its end.
TEST_F(OneLane, SettlesARowThatCameAndWentWhileItSlept) {
    Lane& lane = fire(0, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    resume(1);  // the lane's life: begins the exchange
    while (!lane.exchange.over) {
        turn();
    }
    resume(1);  // the exchange: settles; the life behind it waits for its turn
    ASSERT_EQ(lanes_.shelf.count(), 1u);
    ASSERT_EQ(&fire(1, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), &lane);
    while (!lane.broken) {
        turn();
    }
    resume(64);
    EXPECT_EQ(lanes_.in_flight.count(), 0u);
    EXPECT_EQ(rows_ended(), 2u);
}

}  // namespace
}  // namespace driftless::sim
