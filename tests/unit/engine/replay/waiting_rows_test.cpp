// Rows that wait, and for how long.

#include "engine/replay/waiting_rows.hpp"

#include "tests/unit/engine/prompt/rows_to_arm.hpp"

namespace driftless {

// What the schedule has in store: connections that will be needed, instants that come close, and
// what a row asks of its lane.

namespace {

using Rows = std::vector<SmallRow>;

struct Ahead : RowsToArm {
    explicit Ahead(const Rows& rows, bool sticky = false, std::size_t targets = 1)
        : RowsToArm(rows, options(targets)), ahead(trace, schedule, armer, targets, sticky) {}
    static Options options(std::size_t targets) {
        Options options;
        options.armer.targets = targets;
        return options;
    }
    RowsAhead ahead;
};

// At the second, and one ns to either side of it.
TEST(RowsAhead, WantConnectionsForASecond) {
    Ahead rows(
        Rows{{Duration{0}}, {seconds(1) - Duration{1}}, {seconds(1)}, {seconds(1) + Duration{1}}});
    EXPECT_EQ(rows.ahead.connections_wanted(0), 1u) << "nobody has looked yet: one instant's";
    rows.ahead.look_ahead_a_second(0);
    EXPECT_EQ(rows.ahead.connections_wanted(0), 3u);
    rows.ahead.look_ahead_a_second(1);
    EXPECT_EQ(rows.ahead.connections_wanted(0), 4u);
    rows.ahead.look_ahead_a_second(1);
    EXPECT_EQ(rows.ahead.connections_wanted(0), 4u) << "each row counts once";
    Ahead some(Rows{{milliseconds(0)}, {milliseconds(1)}, {milliseconds(2)}});
    some.ahead.look_ahead_a_second(0);
    for (const std::uint32_t left : {3u, 2u, 1u}) {
        EXPECT_EQ(some.ahead.connections_wanted(0), left);
        (void)some.ahead.take();
    }
    EXPECT_EQ(some.ahead.connections_wanted(0), 0u);
    // A row that nobody has looked at yet can be taken.
    Ahead unseen(Rows{{seconds(0)}, {seconds(5)}});
    EXPECT_EQ(unseen.ahead.take().request, 0u);
    EXPECT_EQ(unseen.ahead.take().request, 1u);
    unseen.ahead.look_ahead_a_second(0);
    EXPECT_EQ(unseen.ahead.instants_until(0), 0u);
}

// Rows that wait leave on the connections of others, unless one answer releases several.
TEST(RowsAhead, WantConnectionsForTheLargestInstant) {
    for (const std::uint32_t widest : {1u, 3u}) {
        RowsToArm::Options options;
        for (std::uint32_t row = 1; row < 10; ++row) {
            const std::uint32_t parent = widest == 1 ? row - 1 : (row - 1) / widest;
            options.dependencies.push_back({row, parent, Trigger::completion, 0});
        }
        RowsToArm rows(Rows(10), options);
        const RowsAhead ahead(rows.trace, rows.schedule, rows.armer, 1, false);
        EXPECT_EQ(ahead.connections_wanted(0), widest);
    }
    // The largest instant stands ready all the time, for as many rows as are left.
    Ahead rows(Rows{{seconds(0)}, {seconds(10)}, {seconds(10)}, {seconds(10)}, {seconds(20)}});
    EXPECT_EQ(rows.ahead.connections_wanted(0), 3u);
    for (int i = 0; i < 3; ++i) {
        (void)rows.ahead.take();
    }
    EXPECT_EQ(rows.ahead.connections_wanted(0), 2u) << "so many are left";
    rows.ahead.stop();
    EXPECT_EQ(rows.ahead.connections_wanted(0), 0u);
    // Each server has its own rows, and its own largest instant.
    Ahead both(Rows{{seconds(0)}, {seconds(0)}, {seconds(0)}, {seconds(5)}}, false, 2);
    EXPECT_EQ(both.ahead.target_of(both.due(1)), 1u);
    EXPECT_EQ(both.ahead.connections_wanted(0), 2u);
    EXPECT_EQ(both.ahead.connections_wanted(1), 1u);
    both.ahead.look_ahead_a_second(seconds(4).ns);
    EXPECT_EQ(both.ahead.connections_wanted(1), 2u);
}

// 10 us is what a fire takes: rows that are closer to the one before count with it.
TEST(RowsAhead, CountInstants) {
    for (const std::int64_t gap_ns : {9'999, 10'000, 10'001}) {
        Ahead rows(Rows{{Duration{0}}, {Duration{gap_ns}}, {Duration{2 * gap_ns}}});
        EXPECT_EQ(rows.ahead.instants_until(1'000'000), gap_ns < 10'000 ? 1u : 3u) << gap_ns;
    }
    Ahead apart(Rows{{microseconds(0)}, {microseconds(20)}, {microseconds(40)}});
    EXPECT_EQ(apart.ahead.instants_until(19'999), 1u);
    EXPECT_EQ(apart.ahead.instants_until(20'000), 2u);
    EXPECT_EQ(apart.ahead.instants_until(40'000), 3u);
    // A burst of three, and one row behind it: the instant ends with its first row.
    Ahead burst(Rows{{Duration{0}}, {Duration{0}}, {Duration{0}}, {microseconds(50)}});
    EXPECT_EQ(burst.ahead.instants_until(100'000), 2u);
    (void)burst.ahead.take();
    EXPECT_EQ(burst.ahead.instants_until(100'000), 1u)
        << "what is left of the burst is late anyway";
    (void)burst.ahead.take();
    (void)burst.ahead.take();
    EXPECT_EQ(burst.ahead.instants_until(100'000), 1u);
    (void)burst.ahead.take();
    EXPECT_EQ(burst.ahead.instants_until(100'000), 0u);
    // A row that follows one that was just taken is part of its instant.
    Ahead close(Rows{{microseconds(0)}, {microseconds(5)}, {microseconds(30)}});
    EXPECT_EQ(close.ahead.instants_until(0), 1u);
    (void)close.ahead.take();
    EXPECT_EQ(close.ahead.instants_until(5'000), 0u);
    EXPECT_EQ(close.ahead.instants_until(30'000), 1u);
    // The same where nobody had counted the one that was taken.
    Ahead uncounted(Rows{{microseconds(0)}, {microseconds(5)}});
    (void)uncounted.ahead.take();
    EXPECT_EQ(uncounted.ahead.instants_until(5'000), 0u);
}

// What is released is counted as the rows of the recording are.
TEST(RowsAhead, CountWhatIsReleasedAndNameTheSession) {
    RowsToArm::Options options;
    options.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
    RowsToArm rows(Rows{{milliseconds(0)}, {milliseconds(1)}}, options);
    RowsAhead ahead(rows.trace, rows.schedule, rows.armer, 1, false);
    const Due first = ahead.take();
    rows.schedule.fired(first, 0);
    ahead.look_ahead_a_second(0);
    EXPECT_EQ(ahead.connections_wanted(0), 1u);
    EXPECT_EQ(ahead.instants_until(seconds(1).ns), 0u);
    rows.schedule.ended(first, milliseconds(7).ns, true);
    EXPECT_EQ(ahead.instants_until(seconds(1).ns), 1u);
    EXPECT_EQ(ahead.take().due_ns, milliseconds(7).ns);
    EXPECT_EQ(ahead.instants_until(seconds(1).ns), 0u);
    // Only sessions that keep their connections are named to the shelf, their last row with them.
    const Rows sessions{{.session = 0}, {.session = 1}, {.session = 0}, {}};
    Ahead sticky(sessions, true);
    EXPECT_EQ(sticky.ahead.wish_of(sticky.due(0), false).session, 0u);
    EXPECT_FALSE(sticky.ahead.wish_of(sticky.due(0), false).last);
    EXPECT_TRUE(sticky.ahead.wish_of(sticky.due(1), false).last);
    EXPECT_TRUE(sticky.ahead.wish_of(sticky.due(2), false).last);
    EXPECT_EQ(sticky.ahead.wish_of(sticky.due(3), false).session, no_session);
    Ahead any(sessions);
    EXPECT_EQ(any.ahead.wish_of(any.due(2), false).session, no_session);
    EXPECT_FALSE(any.ahead.wish_of(any.due(2), false).last);
    Ahead other_rows(Rows{{}});
    EXPECT_FALSE(other_rows.ahead.wish_of(other_rows.due(0), false).fresh);
    EXPECT_TRUE(other_rows.ahead.wish_of(other_rows.due(0), true).fresh);
}

constexpr Instant at(std::int64_t ms) {
    return Instant{} + milliseconds(ms);
}

TEST(RoomTimes, KnowWhenThereWasRoom) {
    RoomTimes room;
    EXPECT_EQ(room.between(at(10), at(30)), milliseconds(20));
    room.fill(at(20));
    EXPECT_EQ(room.between(at(10), at(30)), milliseconds(10));
    EXPECT_EQ(room.between(at(20), at(30)), Duration{0});
    // Full from 10 to 20 and from 50 to 60: a row that was due at 15 had room for 30 ms of its
    // wait.
    RoomTimes later;
    later.fill(at(10));
    later.free(at(20));
    later.fill(at(50));
    later.free(at(60));
    EXPECT_EQ(later.between(at(15), at(60)), milliseconds(30));
    EXPECT_EQ(later.between(at(30), at(60)), milliseconds(20));
    EXPECT_EQ(later.between(at(50), at(60)), Duration{0});
    // A fill took one place, and another answer had come before it: there was room all along.
    RoomTimes other_room;
    other_room.fill(at(10));
    other_room.free(at(20));
    other_room.fill(at(50));
    other_room.free(at(45));
    other_room.fill(at(70));
    EXPECT_EQ(other_room.between(at(0), at(80)), milliseconds(10 + 50));
    other_room.free(at(15));  // and one more, which came before the first
    other_room.fill(at(90));
    EXPECT_EQ(other_room.between(at(0), at(90)), milliseconds(10 + 75));
    // A short stretch does not count, however many there are.
    for (const std::int64_t more_ns : {-1, 0, 1}) {
        RoomTimes third_room;
        third_room.fill(at(0));
        Instant now = at(1);
        for (int i = 0; i < 10; ++i) {
            third_room.free(now);
            now = now + RoomTimes::unseen_max + Duration{more_ns};
            third_room.fill(now);
            now = now + milliseconds(1);
        }
        const Duration each = RoomTimes::unseen_max + Duration{1};
        EXPECT_EQ(third_room.between(at(0), now).ns, more_ns > 0 ? 10 * each.ns : 0) << more_ns;
    }
    // What is too long ago to be known counts as room: a row is then held to be late by us.
    const auto full_each = static_cast<std::int64_t>(RoomTimes::stretches_max);
    for (const std::int64_t more : {-1, 0, 1}) {
        RoomTimes third_room;
        third_room.fill(at(0));
        std::int64_t now = 0;
        for (std::int64_t i = 0; i < full_each + more; ++i) {  // 10 ms full, 10 ms not
            third_room.free(at(now + 10));
            now += 20;
            third_room.fill(at(now));
        }
        third_room.free(at(now + 10));
        const std::int64_t rooms = 10 * (full_each + more);
        EXPECT_EQ(third_room.between(at(0), at(now)), milliseconds(rooms + (more > 0 ? 10 : 0)))
            << more;
    }
}

}  // namespace
}  // namespace driftless
