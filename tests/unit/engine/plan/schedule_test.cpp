// The schedule, and users with what they send.

#include "engine/plan/schedule.hpp"

#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {

namespace {

// Rows of the trace in reverse, so that a row and its request never have one number by accident.
Plan plan_of(const std::vector<std::int64_t>& dues) {
    Plan plan;
    for (const std::int64_t due_ns : dues) {
        const auto row = static_cast<std::uint32_t>(dues.size() - plan.rows.size());
        plan.rows.push_back({due_ns, row, 0});
    }
    return plan;
}

std::vector<std::uint32_t> seen_by(Schedule& schedule, Lookahead reader, std::int64_t horizon_ns) {
    std::vector<std::uint32_t> requests;
    while (const std::optional<Due> due = schedule.within(reader, horizon_ns)) {
        requests.push_back(due->request);
        schedule.pass(reader, *due);
    }
    return requests;
}

using Requests = std::vector<std::uint32_t>;

TEST(Schedule, TakesRowsInTheirOrder) {
    const Plan plan;
    Schedule schedule(plan);
    EXPECT_EQ(std::tuple(schedule.peek(), schedule.left()), std::tuple(nullptr, 0u));
    EXPECT_TRUE(schedule.over());
    EXPECT_FALSE(schedule.within(Lookahead::arming, INT64_MAX));
    const Plan other_plan = plan_of({0, 10, 30});
    Schedule other_schedule(other_plan);
    for (std::uint32_t request = 0; request < 3; ++request) {
        EXPECT_EQ(other_schedule.left(), 3 - request);
        ASSERT_NE(other_schedule.peek(), nullptr);
        EXPECT_EQ(other_schedule.peek()->request, request);
        const Due peeked = *other_schedule.peek();
        EXPECT_FALSE(other_schedule.has_taken(peeked));
        const Due due = other_schedule.take();
        EXPECT_TRUE(other_schedule.has_taken(due));
        EXPECT_EQ(due.request, request);
        EXPECT_EQ(due.row, other_plan.rows[request].row);
        EXPECT_EQ(due.due_ns, other_plan.rows[request].due_ns);
        EXPECT_EQ(peeked.due_ns, due.due_ns);
    }
    EXPECT_EQ(other_schedule.peek(), nullptr);
    // Equal instants go in the order of the plan, and each knows how many go before it.
    const Plan third_plan = plan_of({5, 5, 5, 6, 7, 7});
    Schedule third_schedule(third_plan);
    Requests ranks;
    while (third_schedule.peek() != nullptr) {
        const std::uint32_t peeked = third_schedule.peek()->rank;
        ranks.push_back(third_schedule.take().rank);
        EXPECT_EQ(peeked, ranks.back());
    }
    EXPECT_EQ(ranks, (Requests{0, 1, 2, 0, 0, 1}));
}

// What no schedule has told: of any row of a plan.
TEST(Schedule, SaysTheSameAsThePlanAlsoOfAResumedRun) {
    const Plan plan = plan_of({0, 5, 5, 5, 9});
    Schedule schedule(plan);
    for (std::uint32_t request = 0; request < 5; ++request) {
        const Due taken = schedule.take();
        const Due looked_up = due_at(plan, request);
        EXPECT_EQ(std::tuple(looked_up.due_ns, looked_up.request, looked_up.row, looked_up.rank),
                  std::tuple(taken.due_ns, taken.request, taken.row, taken.rank));
    }
    // The rows that are left of a run that was killed: they begin in the middle, and so does all
    // else.
    const Plan other_plan = plan_of({7'000, 7'000, 9'000});
    Schedule other_schedule(other_plan);
    EXPECT_EQ(other_schedule.first_due_ns(), 7'000);
    EXPECT_EQ(seen_by(other_schedule, Lookahead::arming, 6'999), Requests{});
    EXPECT_EQ(seen_by(other_schedule, Lookahead::arming, 7'000), (Requests{0, 1}));
    EXPECT_EQ(other_schedule.take().due_ns, 7'000);
    EXPECT_EQ(other_schedule.first_due_ns(), 7'000) << "whatever was taken";
}

TEST(Schedule, LooksAheadForEachReader) {
    const Plan plan = plan_of({0, 10, 20, 30});
    Schedule schedule(plan);
    EXPECT_EQ(seen_by(schedule, Lookahead::arming, 9), Requests{0});
    EXPECT_EQ(seen_by(schedule, Lookahead::arming, 10), Requests{1}) << "inclusive, and once";
    EXPECT_EQ(seen_by(schedule, Lookahead::arming, 10), Requests{});
    EXPECT_EQ(seen_by(schedule, Lookahead::guarding, 20), (Requests{0, 1, 2})) << "by itself";
    EXPECT_EQ(seen_by(schedule, Lookahead::arming, INT64_MAX), (Requests{2, 3}));
    EXPECT_EQ(schedule.peek()->request, 0u) << "looking takes nothing";
    // What a reader has not seen when it is taken it never sees: that is over.
    const Plan other_plan = plan_of({0, 0, 10, 20});
    Schedule other_schedule(other_plan);
    other_schedule.pass(Lookahead::connecting, *other_schedule.within(Lookahead::connecting, 0));
    const Due seen = other_schedule.take();
    const Due unseen = other_schedule.take();
    EXPECT_TRUE(other_schedule.has_passed(Lookahead::connecting, seen));
    EXPECT_FALSE(other_schedule.has_passed(Lookahead::connecting, unseen));
    EXPECT_EQ(seen_by(other_schedule, Lookahead::connecting, 20), (Requests{2, 3}));
    EXPECT_FALSE(other_schedule.has_passed(Lookahead::guarding, unseen));
    // A connection that was bound to a row is lost: the row is to be bound once more, and with it
    // all that follow.
    const Plan third_plan = plan_of({0, 10, 20});
    Schedule third_schedule(third_plan);
    (void)third_schedule.take();
    const Due second = *third_schedule.within(Lookahead::binding, 10);
    EXPECT_EQ(seen_by(third_schedule, Lookahead::binding, 20), (Requests{1, 2}));
    third_schedule.go_back(Lookahead::binding, second);
    EXPECT_EQ(seen_by(third_schedule, Lookahead::binding, 20), (Requests{1, 2}));
}

TEST(Schedule, IsOverWhenEveryRowHasItsEndAndPlayedOnceMore) {
    const Plan plan = plan_of({0, 10});
    Schedule schedule(plan);
    const Due first = schedule.take();
    schedule.fired(first, 0);
    EXPECT_FALSE(schedule.over());
    const Due second = schedule.take();
    schedule.ended(second, 10, false);  // it never left
    EXPECT_FALSE(schedule.over());
    schedule.ended(first, 20, true);
    EXPECT_TRUE(schedule.over());
    // Another one plays the same rows, and leaves the first where it is.
    Schedule other_schedule(plan);
    Schedule copy = other_schedule.as_recorded();
    EXPECT_EQ(copy.take().request, 0u);
    EXPECT_EQ(copy.take().request, 1u);
    EXPECT_EQ(copy.peek(), nullptr);
    EXPECT_EQ(other_schedule.peek()->request, 0u);
}

}  // namespace
}  // namespace driftless
