// Connections stand before rows need them, as many as they need, and idle ones go before their
// server ends them.
#include <gtest/gtest.h>

#include "engine/replay/between_fires.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

struct Supply : ByHand {
    explicit Supply(std::uint32_t rows, const Options& options = {})
        : Supply(std::vector<SmallRow>(rows), options) {}
    explicit Supply(const std::vector<SmallRow>& rows, const Options& options = {})
        : ByHand(rows, options) {}

    /// Opens what is wanted, and waits until it stands.
    std::uint32_t open_all() {
        std::uint32_t opened = 0;
        while (supply.open_one(driver.now())) {
            ++opened;
        }
        for (const LaneTarget& target : lanes.parts.targets) {
            while (target.connecting > 0) {
                turn();
            }
        }
        return opened;
    }

    RowsAhead ahead{trace, schedule, armer, lanes.parts.targets.size(), false};
    LaneSupply supply{settings, lanes, ahead};
};

Supply::Options servers(std::uint32_t targets) {
    Supply::Options options;
    options.armer.targets = targets;
    options.settings.lanes_max = 4096;
    return options;
}

TEST(LaneSupply, OpensAsManyAsRowsNeed) {
    Supply lanes(3);
    EXPECT_EQ(lanes.open_all(), 3u);
    EXPECT_EQ(lanes.supply.in_stock(0), 3u);
    EXPECT_EQ(lanes.open_all(), 0u);
    Lane& taken = *lanes.lanes.pool.take_idle(0, {});
    EXPECT_EQ(lanes.supply.in_stock(0), 2u);
    EXPECT_EQ(lanes.open_all(), 1u);
    lanes.arm();
    taken.exchange.row = &lanes.leave();
}

// What is under way counts.
TEST(LaneSupply, OpensNoneTwice) {
    Supply lanes(2);
    EXPECT_TRUE(lanes.supply.open_one(lanes.driver.now()));
    EXPECT_TRUE(lanes.supply.open_one(lanes.driver.now()));
    EXPECT_EQ(lanes.supply.in_stock(0), 0u);
    EXPECT_FALSE(lanes.supply.open_one(lanes.driver.now()));
}

TEST(LaneSupply, OpensNoMoreThanThereMayBe) {
    Supply::Options options;
    options.settings.lanes_max = 2;
    Supply lanes(3, options);
    EXPECT_EQ(lanes.open_all(), 2u);
    EXPECT_TRUE(lanes.lanes.pool.full());
}

// ... and none of the servers goes without.
TEST(LaneSupply, SharesWhatThereMayBe) {
    Supply::Options options = servers(2);
    options.settings.lanes_max = 2;
    Supply lanes(6, options);
    EXPECT_EQ(lanes.open_all(), 2u);
    EXPECT_EQ(lanes.supply.in_stock(0), 1u);
    EXPECT_EQ(lanes.supply.in_stock(1), 1u);
}

// After a failure none is opened ahead of need for a while.
TEST(LaneSupply, LeavesAServerThatFailsInPeace) {
    Supply lanes(1);
    const Instant quiet = lanes.driver.now() + milliseconds(200);
    lanes.lanes.parts.targets[0].quiet_until = quiet;
    EXPECT_FALSE(lanes.supply.open_one(quiet - Duration{1}));
    EXPECT_TRUE(lanes.supply.open_one(quiet));
}

// At most 1,024 stand idle; servers share them as rows need them.
TEST(LaneSupply, SharesWhatMayStandIdle) {
    Supply few(1024, servers(2));
    (void)few.supply.open_one(few.driver.now());
    EXPECT_EQ(few.lanes.parts.targets[0].wanted, 512u);
    std::vector<SmallRow> rows(2000);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        rows[row].due = Duration{static_cast<std::int64_t>(row) * 100'000};
    }
    Supply many(rows, servers(2));
    many.ahead.look_ahead_a_second(0);
    EXPECT_EQ(many.open_all(), LaneSupply::idle_max);
    EXPECT_EQ(many.lanes.parts.targets[0].wanted, 512u);
    EXPECT_EQ(many.lanes.parts.targets[1].wanted, 512u);
}

// Rows of one instant leave together, each on its own connection: all of them stand by then, and
// when they have left no more are kept than before.
TEST(LaneSupply, StandsReadyForAllRowsOfAnInstant) {
    std::vector<SmallRow> rows(2100);
    rows.back().due = milliseconds(500);
    Supply lanes(rows, servers(1));
    lanes.ahead.look_ahead_a_second(0);
    EXPECT_EQ(lanes.ahead.largest_crowd(0), 2099u);
    EXPECT_EQ(lanes.open_all(), 2099u);
    for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
        EXPECT_EQ(lanes.ahead.largest_crowd(0), 2099u);
        (void)lanes.ahead.take();
    }
    (void)lanes.ahead.take();
    EXPECT_EQ(lanes.ahead.largest_crowd(0), 0u);
}

// `--connections 5` at two servers: three each, whatever rows need, busy ones included.
TEST(LaneSupply, KeepsAFixedNumber) {
    Supply::Options options = servers(2);
    options.settings.connections_fixed = 5;
    Supply lanes(1, options);
    EXPECT_EQ(lanes.open_all(), 6u);
    Lane& taken = *lanes.lanes.pool.take_idle(0, {});
    EXPECT_EQ(lanes.supply.in_stock(0), 3u);
    EXPECT_EQ(lanes.open_all(), 0u);
    lanes.arm();
    taken.exchange.row = &lanes.leave();
}

// The server closes after 4 s: the connection is replaced after 3 s, and goes when its successor
// stands.
TEST(LaneSupply, ReplacesWhatGrowsOld) {
    Supply lanes(1);
    lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    EXPECT_EQ(lanes.open_all(), 1u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
    lanes.pass(milliseconds(3000));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), seconds(1))) << "its age shows";
    EXPECT_EQ(lanes.lanes.shelf.ageing(0), 1u);
    EXPECT_EQ(lanes.supply.in_stock(0), 0u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1))) << "no successor yet";
    EXPECT_EQ(lanes.open_all(), 1u);
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
    EXPECT_EQ(lanes.lanes.shelf.ageing(0), 0u);
    EXPECT_EQ(lanes.lanes.shelf.young(0), 1u);
    EXPECT_EQ(lanes.lanes.parts.counts.retired_idle, 1u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
}

// One that may not be used any more goes without a successor.
TEST(LaneSupply, EndsWhatIsTooOld) {
    Supply lanes(1);
    lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    (void)lanes.open_all();
    lanes.pass(milliseconds(3500));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), Duration{0}));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), Duration{0}));
    EXPECT_EQ(lanes.lanes.shelf.count(0), 0u);
    EXPECT_EQ(lanes.lanes.parts.counts.retired_idle, 1u);
}

// At the limit on connections it goes first, in a gap of 50 ms at least.
TEST(LaneSupply, MakesRoomForASuccessorInAGap) {
    Supply::Options options;
    options.settings.lanes_max = 1;
    Supply lanes(1, options);
    lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    (void)lanes.open_all();
    lanes.pass(milliseconds(3000));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), milliseconds(50)));
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), milliseconds(50) - Duration{1}));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), milliseconds(50)));
    EXPECT_EQ(lanes.lanes.shelf.count(0), 0u);
}

}  // namespace
}  // namespace driftless::sim
