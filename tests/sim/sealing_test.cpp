// Lanes that are bound to a row each: whose turn it is, and what becomes of a row whose lane will
// not carry it.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "engine/replay/lanes.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

// Lanes without connections: nothing is made into records here (tls_lanes_test.cpp).
struct Bound : ByHand {
    Bound() : ByHand(std::vector<SmallRow>(4)) {
        arm();
        parts.targets.resize(1);
    }
    ~Bound() {
        for (Lane& lane : own) {
            if (lane.tls->row != nullptr) {
                (void)sealing.unbind(lane);
            }
        }
    }

    /// A new lane, bound to the schedule's next row.
    Lane& bind(bool late) {
        Lane& lane = own.emplace_back();
        lane.number = static_cast<std::uint32_t>(own.size() - 1);
        lane.enter(LaneState::connecting);
        lane.enter(LaneState::idle);
        lane.tls = std::make_unique<LaneTls>();
        sealing.bind(lane, take(), late);
        return lane;
    }
    /// The server has refused the connection, as by an alert.
    void refuse(Lane& lane) {
        lane.tls->stream.connect(*world.endpoints()[0].tls);
        lane.tls->stream.fail_closed();
        CHECK(lane.tls->stream.failure() != 0);
    }

    TlsWorld world{1, fair_tls(), 1};
    LaneParts parts{loop, settings, bodies, ring, {}, {}, {}};
    InFlight in_flight{parts};
    Sealing sealing{parts, in_flight};
    std::deque<Lane> own;
};

using Outcomes = std::vector<Outcome>;

TEST(Sealing, LateRowsGoFirst) {
    Bound bound;
    EXPECT_EQ(bound.sealing.next(), nullptr);
    Lane& first = bound.bind(false);
    Lane& second = bound.bind(false);
    EXPECT_EQ(bound.sealing.next(), &first);
    EXPECT_FALSE(bound.sealing.next_is_late());
    bound.sealing.now_late(second);
    EXPECT_EQ(bound.sealing.next(), &second);
    EXPECT_TRUE(bound.sealing.next_is_late());
    EXPECT_EQ(bound.sealing.late_count(), 1u);
    EXPECT_EQ(bound.sealing.late_front(), nullptr) << "none is ready";
    Lane& third = bound.bind(true);
    EXPECT_EQ(bound.sealing.next(), &second);
    EXPECT_EQ(bound.sealing.late_count(), 2u);
    (void)bound.sealing.unbind(second);
    EXPECT_EQ(bound.sealing.next(), &third);
    EXPECT_EQ(bound.sealing.late_count(), 1u);
}

// Rows that are due become records in the order in which they became late.
TEST(Sealing, LateRowsKeepTheirOrder) {
    Bound bound;
    Lane& first = bound.bind(false);
    Lane& second = bound.bind(false);
    Lane& third = bound.bind(true);
    bound.sealing.now_late(second);
    bound.sealing.now_late(first);
    for (Lane* lane : {&third, &second, &first}) {
        EXPECT_EQ(bound.sealing.next(), lane);
        (void)bound.sealing.unbind(*lane);
    }
}

TEST(Sealing, ALaneIsOfOneRow) {
    Bound bound;
    Lane& lane = bound.bind(false);
    EXPECT_EQ(bound.parts.targets[0].bound, 1u);
    EXPECT_EQ(lane.tls->row->lane, lane.number);
    RowUnderway& row = bound.sealing.unbind(lane);
    EXPECT_EQ(row.lane, RowUnderway::no_lane);
    EXPECT_EQ(lane.tls->row, nullptr);
    EXPECT_EQ(bound.parts.targets[0].bound, 0u);
    EXPECT_EQ(bound.sealing.next(), nullptr);
}

// Its bytes are records of a connection that is gone; its storage is its own.
TEST(Sealing, ARowThatIsDroppedKeepsItsStorage) {
    Bound bound;
    Lane& lane = bound.bind(false);
    const char* const storage = lane.tls->row->storage;
    RowUnderway& row = bound.sealing.drop(lane);
    EXPECT_EQ(row.stage, RowStage::again);
    EXPECT_EQ(row.storage, storage);
    EXPECT_TRUE(row.bytes.empty());
}

// A row whose connection ends is built again; those that ended young are counted.
TEST(Sealing, ARowThatIsLostIsBuiltAgain) {
    for (const bool late : {false, true}) {
        for (const bool young : {false, true}) {
            Bound bound;
            Lane& lane = bound.bind(late);
            RowUnderway& row = *lane.tls->row;
            bound.sealing.lose(lane, young);
            EXPECT_EQ(bound.parts.again.pop_front(), &row);
            EXPECT_EQ(row.losses, young ? 1u : 0u);
            EXPECT_NE(row.storage, nullptr);
            EXPECT_EQ(bound.sealing.late_count(), 0u);
            EXPECT_TRUE(bound.ends().empty());
        }
    }
}

// Three connections may end young under a late row.
TEST(Sealing, ALateRowEndsWithItsFourthYoungConnection) {
    for (const std::uint16_t before : {2, 3, 4}) {
        Bound bound;
        Lane& lane = bound.bind(true);
        RowUnderway& row = *lane.tls->row;
        row.losses = before;
        bound.sealing.lose(lane, true);
        const bool ended = before >= Sealing::losses_max;
        EXPECT_EQ(row.stage, ended ? RowStage::ended : RowStage::again) << before;
        EXPECT_EQ(row.storage == nullptr, ended);
        EXPECT_EQ(bound.ends(), ended ? Outcomes{Outcome::send_failed} : Outcomes{});
    }
}

// A server that refuses every connection right behind the handshake does so again.
TEST(Sealing, ALateRowEndsWhereItsServerRefusesTheConnection) {
    for (const bool used : {false, true}) {
        for (const bool late : {false, true}) {
            Bound bound;
            Lane& lane = bound.bind(late);
            lane.used = used;
            bound.refuse(lane);
            bound.sealing.lose(lane, true);
            const bool ended = late && !used;
            EXPECT_EQ(bound.ends(), ended ? Outcomes{Outcome::tls_failed} : Outcomes{});
            EXPECT_EQ(bound.parts.again.count, ended ? 0u : 1u);
        }
    }
}

// Without room for its end it is tried again, but for one that has left, which has its place.
TEST(Sealing, ARowWithoutAPlaceInTheRingIsTriedAgain) {
    for (const std::uint16_t tries : {0, 1}) {
        Bound bound;
        Lane& lane = bound.bind(true);
        RowUnderway& row = *lane.tls->row;
        row.losses = Sealing::losses_max;
        row.tries = tries;
        if (tries > 0) {
            row.tries = 0;
            row.stage = RowStage::in_flight;
            bound.in_flight.add(row);
            row.stage = RowStage::bound;
            row.tries = tries;
        }
        bound.fill_ring();
        bound.sealing.lose(lane, true);
        EXPECT_EQ(row.stage, tries > 0 ? RowStage::ended : RowStage::again);
        EXPECT_EQ(bound.parts.again.count, tries > 0 ? 0u : 1u);
    }
}

// A late row is the pacer's to end; any other waits for its turn without bytes.
TEST(Sealing, GivesUpRows) {
    Bound bound;
    Lane& late = bound.bind(true);
    RowUnderway& late_row = *late.tls->row;
    Lane& early = bound.bind(false);
    RowUnderway& early_row = *early.tls->row;
    bound.sealing.give_up(late);
    bound.sealing.give_up(early);
    EXPECT_EQ(bound.parts.again.pop_front(), &late_row);
    EXPECT_TRUE(bound.parts.again.empty());
    EXPECT_NE(late_row.storage, nullptr);
    EXPECT_EQ(early_row.stage, RowStage::wanted);
    EXPECT_EQ(early_row.storage, nullptr);
    EXPECT_TRUE(early_row.bytes.empty());
    EXPECT_TRUE(bound.ends().empty());
}

}  // namespace
}  // namespace driftless::sim
