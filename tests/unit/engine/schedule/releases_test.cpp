// Closed sessions: what waits is due so long after the last of those that it waits for, and what
// waits for a row without an answer never is.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/schedule.hpp"

namespace driftless {
namespace {

using Requests = std::vector<std::uint32_t>;

struct Session {
    Trace trace;
    Plan plan;
    Session(const std::vector<std::int64_t>& dues, const std::vector<Dependency>& dependencies) {
        for (const std::int64_t due_ns : dues) {
            const auto index = static_cast<std::uint32_t>(trace.rows.size());
            TraceRow row;
            row.index = index;
            row.at_ns = due_ns;
            trace.rows.push_back(row);
            plan.rows.push_back({due_ns, index, 0});
        }
        trace.dependencies = dependencies;
    }
    Schedule schedule(Speed speed = {}) const { return {trace, plan, speed}; }
};

// Of a schedule that has one.
Due take(Schedule& schedule, std::uint32_t request) {
    EXPECT_NE(schedule.peek(), nullptr);
    const Due due = schedule.take();
    EXPECT_EQ(due.request, request);
    return due;
}

Requests take_dropped(Schedule& schedule) {
    Requests requests;
    while (const std::optional<Due> due = schedule.dropped()) {
        requests.push_back(due->request);
        schedule.take_dropped();
        schedule.ended(*due, 0, false);
    }
    return requests;
}

std::optional<std::uint32_t> to_arm(Schedule& schedule, std::int64_t horizon_ns) {
    const std::optional<Due> due = schedule.within(Lookahead::arming, horizon_ns);
    if (!due) {
        return std::nullopt;
    }
    schedule.pass(Lookahead::arming, *due);
    return due->request;
}

TEST(Releases, ATurnIsDueSoLongAfterTheEndOfItsParent) {
    const Session session({0, 1'000}, {{1, 0, Trigger::completion, 600}});
    Schedule schedule = session.schedule({2, 1});
    const Due first = take(schedule, 0);
    EXPECT_EQ(schedule.peek(), nullptr) << "not at its recorded instant";
    EXPECT_EQ(schedule.left(), 1u);
    schedule.fired(first, 10);
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.ended(first, 5'000, true);
    const Due second = take(schedule, 1);
    EXPECT_EQ(second.due_ns, 5'300) << "the gap, twice as fast";
    schedule.fired(second, 5'300);
    schedule.ended(second, 6'000, true);
    EXPECT_TRUE(schedule.over());
}

TEST(Releases, ATurnMayWaitForAnotherToLeave) {
    const Session session({0, 0}, {{1, 0, Trigger::dispatch, 7}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 3);
    EXPECT_EQ(take(schedule, 1).due_ns, 10);
    schedule.ended(first, 4, false);  // it has left: nobody waits for its answer
    EXPECT_FALSE(schedule.dropped());
}

// A join waits for the last of its parents, whatever their order.
TEST(Releases, AJoinWaitsForAllOfItsParents) {
    for (const bool first_before : {true, false}) {
        const Session session({0, 0, 0},
                              {{2, 0, Trigger::completion, 100}, {2, 1, Trigger::completion, 0}});
        Schedule schedule = session.schedule();
        const Due one = take(schedule, 0);
        const Due other = take(schedule, 1);
        schedule.fired(one, 0);
        schedule.fired(other, 0);
        schedule.ended(first_before ? one : other, 500, true);
        EXPECT_EQ(schedule.peek(), nullptr);
        schedule.ended(first_before ? other : one, 550, true);
        EXPECT_EQ(take(schedule, 2).due_ns, first_before ? 600 : 650);
    }
}

// Recorded instants and released ones go by due; those of one instant by number, with their ranks.
TEST(Releases, GoAmongRecordedInstantsByDue) {
    const Session session({0, 20, 30, 40}, {{3, 0, Trigger::completion, 5}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    EXPECT_EQ(schedule.peek()->request, 1u);
    schedule.ended(first, 15, true);
    EXPECT_EQ(schedule.peek()->request, 1u);
    EXPECT_EQ(take(schedule, 1).rank, 0u);
    const Due released = take(schedule, 3);
    EXPECT_EQ(released.due_ns, 20);
    EXPECT_EQ(released.rank, 1u) << "of the same instant";
    EXPECT_EQ(take(schedule, 2).rank, 0u);
}

// Bytes are made when all parents have left; what is next goes before that.
TEST(Releases, AreArmedWhileTheirParentsAreAnswered) {
    const Session session({0, 0, 0, 0},
                          {{1, 0, Trigger::completion, 0}, {2, 0, Trigger::completion, 0}});
    Schedule schedule = session.schedule();
    EXPECT_EQ(to_arm(schedule, 0), 0u);
    EXPECT_EQ(to_arm(schedule, 0), 3u);
    EXPECT_EQ(to_arm(schedule, INT64_MAX), std::nullopt) << "its parent has not left";
    const Due first = take(schedule, 0);
    schedule.fired(first, 1);
    EXPECT_EQ(to_arm(schedule, 0), 1u);
    (void)take(schedule, 3);
    schedule.ended(first, 2, true);
    EXPECT_EQ(take(schedule, 1).due_ns, 2);
    EXPECT_EQ(to_arm(schedule, 2), 2u);
    EXPECT_EQ(to_arm(schedule, 2), std::nullopt);
}

// A turn with a gap makes room for those that an answer may release at once.
TEST(Releases, AreArmedFirstWhereTheyAreDueAtOnce) {
    const Session session({0, 0, 0, 0}, {{1, 0, Trigger::completion, 1'000'000},
                                         {2, 0, Trigger::completion, 0},
                                         {3, 0, Trigger::completion, 0}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    EXPECT_FALSE(schedule.arms_soon()) << "its parent has not left";
    schedule.fired(first, 1);
    for (const std::uint32_t request : {2, 3}) {
        EXPECT_TRUE(schedule.arms_soon());
        EXPECT_EQ(to_arm(schedule, 0), request);
    }
    EXPECT_FALSE(schedule.arms_soon());
    EXPECT_EQ(to_arm(schedule, 0), 1u);
}

TEST(Releases, AreSeenByThoseWhoLookAheadOnceTheyAreKnown) {
    const Session session({0, 50}, {{1, 0, Trigger::completion, 100}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, INT64_MAX));
    schedule.ended(first, 10, true);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, 109));
    const std::optional<Due> seen = schedule.within(Lookahead::guarding, 110);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->due_ns, 110);
    schedule.pass(Lookahead::guarding, *seen);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, INT64_MAX));
    EXPECT_TRUE(schedule.has_passed(Lookahead::guarding, *seen));
    EXPECT_FALSE(schedule.has_passed(Lookahead::connecting, *seen));
    schedule.pass(Lookahead::binding, *schedule.within(Lookahead::binding, 110));
    schedule.go_back(Lookahead::binding, *seen);
    EXPECT_EQ(schedule.within(Lookahead::binding, 110)->request, 1u);
    (void)take(schedule, 1);
    EXPECT_FALSE(schedule.within(Lookahead::binding, INT64_MAX)) << "it is taken";
}

// Nobody goes on behind an answer that never came; all that wait for it get their end.
TEST(Releases, AreDroppedBehindAFailure) {
    const Session session({0, 10, 20, 30, 40}, {{1, 0, Trigger::completion, 0},
                                                {2, 1, Trigger::dispatch, 0},
                                                {3, 2, Trigger::completion, 0},
                                                {3, 1, Trigger::completion, 0}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    schedule.ended(first, 5, false);
    EXPECT_EQ(schedule.dropped()->due_ns, 10) << "the recorded instant";
    EXPECT_EQ(take_dropped(schedule), (Requests{1, 2, 3}));
    EXPECT_FALSE(schedule.within(Lookahead::arming, 39)) << "nothing is built for them";
    const Due last = take(schedule, 4);
    schedule.ended(last, 50, false);
    EXPECT_TRUE(schedule.over());
}

// One that never left releases nothing, not even what waits for no answer.
TEST(Releases, AreDroppedBehindARowThatNeverLeft) {
    const Session session({0, 10}, {{1, 0, Trigger::dispatch, 0}});
    Schedule schedule = session.schedule();
    schedule.ended(take(schedule, 0), 5, false);
    EXPECT_EQ(take_dropped(schedule), Requests{1});
    EXPECT_TRUE(schedule.over());
}

TEST(Releases, AreDroppedWhenTheRunStops) {
    const Session session({0, 0, 0},
                          {{1, 0, Trigger::completion, 0}, {2, 0, Trigger::completion, 9}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    schedule.stop();
    schedule.ended(first, 5, true);
    EXPECT_EQ(schedule.peek(), nullptr);
    EXPECT_EQ(take_dropped(schedule), (Requests{1, 2}));
    EXPECT_TRUE(schedule.over());
}

// What a window of the trace leaves out is over before the run begins.
TEST(Releases, WaitForNothingOutsideThePlan) {
    Session session({0, 10, 20}, {{1, 0, Trigger::completion, 0}, {2, 1, Trigger::completion, 0}});
    session.plan.rows.erase(session.plan.rows.begin());
    Schedule schedule = session.schedule();
    EXPECT_EQ(schedule.first_due_ns(), 10);
    EXPECT_EQ(take(schedule, 0).row, 1u);
    EXPECT_EQ(schedule.peek(), nullptr);
    EXPECT_EQ(schedule.left(), 1u);
}

// Who reads a record can tell our reaction from the gap: when the last parent let the turn go.
TEST(Releases, SayWhenTheLastParentEnded) {
    const Session session({0, 0, 0, 5},
                          {{2, 0, Trigger::completion, 100}, {2, 1, Trigger::dispatch, 7}});
    Schedule schedule = session.schedule();
    EXPECT_EQ(schedule.releases()->count(), 1u);
    const Due first = take(schedule, 0);
    EXPECT_EQ(first.parent_end_ns, Due::no_parent);
    schedule.fired(first, 0);
    const Due second = take(schedule, 1);
    schedule.ended(first, 20, true);
    (void)take(schedule, 3);
    schedule.fired(second, 30);
    const Due turn = take(schedule, 2);
    EXPECT_EQ(turn.due_ns, 120);
    EXPECT_EQ(turn.parent_end_ns, 30);
}

// What is dropped names the row at which its tree ended, not the one before it.
TEST(Releases, NameTheRowThatFailed) {
    const Session session({0, 0, 0},
                          {{1, 0, Trigger::completion, 0}, {2, 1, Trigger::completion, 0}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    schedule.ended(first, 5, false);
    for (int row = 0; row < 2; ++row) {
        ASSERT_TRUE(schedule.dropped().has_value());
        EXPECT_EQ(schedule.dropped()->failed_row, 0u);
        schedule.take_dropped();
    }
    Schedule stopped = session.schedule();
    stopped.stop();
    ASSERT_TRUE(stopped.dropped().has_value());
    EXPECT_EQ(stopped.dropped()->failed_row, Due::none_failed);
}

// A segment of a run: rows that ended before it release those that wait for them, and the segment
// begins with the earliest of all.
TEST(Releases, GoOnFromWhatEndedBefore) {
    Session session({0, 100, 200, 300, 400}, {{1, 0, Trigger::completion, 10},
                                              {2, 0, Trigger::dispatch, 500},
                                              {3, 0, Trigger::completion, 0},
                                              {3, 1, Trigger::completion, 20}});
    session.plan.rows.erase(session.plan.rows.begin());  // row 0 has a record
    EarlierRows earlier;
    earlier[0] = {40, 70};
    Schedule schedule(session.trace, session.plan, Speed(), earlier);
    EXPECT_EQ(schedule.first_due_ns(), 80);
    EXPECT_EQ(to_arm(schedule, INT64_MAX), 0u);
    const Due first = take(schedule, 0);
    EXPECT_EQ(first.parent_end_ns, 70);
    schedule.fired(first, 80);
    EXPECT_EQ(take(schedule, 3).due_ns, 400);  // a root, as recorded
    schedule.ended(first, 600, true);
    EXPECT_EQ(take(schedule, 1).due_ns, 540);  // by the end of row 0 and 500
    const Due last = take(schedule, 2);
    EXPECT_EQ(last.due_ns, 620);
    EXPECT_EQ(last.parent_end_ns, 600);
}

// A segment in which every row waits for one that ended before has a first row all the same.
TEST(Releases, NeedNoRoot) {
    Session session({0, 100}, {{1, 0, Trigger::completion, 10}});
    session.plan.rows.erase(session.plan.rows.begin());
    EarlierRows earlier;
    earlier[0] = {40, 5'000'000};
    const Schedule schedule(session.trace, session.plan, Speed(), earlier);
    EXPECT_EQ(schedule.first_due_ns(), 5'000'010);
}

// The same rows at their recorded instants, whatever waits for what.
TEST(Releases, CanBePlayedAsRecorded) {
    const Session session({0, 10}, {{1, 0, Trigger::completion, 0}});
    Schedule recorded = session.schedule().as_recorded();
    (void)take(recorded, 0);
    EXPECT_EQ(take(recorded, 1).due_ns, 10);
}

}  // namespace
}  // namespace driftless
