// Users that are added while a run goes on: when they begin, and when nobody is added any more.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/plan/plan.hpp"
#include "engine/plan/schedule.hpp"

namespace driftless {
namespace {

constexpr std::int64_t lead_ns = Users::grow_lead_ns;
constexpr std::int64_t spacing_ns = Users::grow_spacing_ns;

/// So many sessions of one row each.
struct Sessions {
    Trace trace;
    Plan plan;
    explicit Sessions(std::uint32_t count) {
        for (std::uint32_t index = 0; index < count; ++index) {
            TraceRow row;
            row.index = row.session = index;
            row.output_length = 1;
            trace.sessions.push_back("s" + std::to_string(index));
            trace.rows.push_back(row);
            plan.rows.push_back({0, index, 0});
        }
    }
    Schedule schedule(const UserRules& rules) const { return {trace, plan, {}, rules}; }
};

UserRules growing_rules(std::uint32_t first, std::uint32_t most) {
    return {.users = most, .users_first = first};
}

TEST(Growing, UsersBeginALittleLater) {
    const Sessions sessions(10);
    Schedule schedule = sessions.schedule(growing_rules(1, 4));
    Due due = schedule.take();
    EXPECT_EQ(due.user, 0u);
    EXPECT_EQ(schedule.peek(), nullptr);  // the others are not there yet
    schedule.fired(due, 0);
    schedule.grow(1, 5);
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.grow(3, 5);
    schedule.grow(3, 6);  // told again
    schedule.grow(2, 7);  // never fewer
    for (const std::uint32_t user : {1U, 2U}) {
        ASSERT_NE(schedule.peek(), nullptr);
        due = schedule.take();
        EXPECT_EQ(due.user, user);
        EXPECT_EQ(due.due_ns, 5 + lead_ns + (user - 1) * spacing_ns);
    }
    EXPECT_EQ(schedule.peek(), nullptr);
}

// Nobody begins behind the end of the run's time, behind its last tree, or after a stop.
TEST(Growing, EndsWithTheRun) {
    const Sessions sessions(4);
    UserRules timed = growing_rules(1, 2);
    timed.for_ns = lead_ns + 10;
    for (const std::int64_t at_ns : {9, 10}) {
        Schedule schedule = sessions.schedule(timed);
        schedule.fired(schedule.take(), 0);
        schedule.grow(2, at_ns);
        EXPECT_EQ(schedule.peek() != nullptr, at_ns < 10);
    }
    Schedule stopped = sessions.schedule(growing_rules(1, 2));
    stopped.fired(stopped.take(), 0);
    stopped.stop();
    stopped.grow(2, 5);
    EXPECT_EQ(stopped.peek(), nullptr);

    const Sessions one(1);
    Schedule over = one.schedule(growing_rules(1, 2));
    const Due last = over.take();
    over.fired(last, 0);
    over.grow(2, 5);  // no tree is left
    EXPECT_EQ(over.peek(), nullptr);
    over.ended(last, 10, true);
    over.grow(2, 15);
    EXPECT_TRUE(over.over());
}

// Together they play each tree once.
TEST(Growing, UsersPlayWhatIsLeft) {
    const Sessions sessions(20);
    Schedule schedule = sessions.schedule(growing_rules(2, 5));
    std::set<std::uint32_t> rows;
    std::set<std::uint32_t> users;
    std::int64_t now_ns = 0;
    while (schedule.peek() != nullptr) {
        const Due due = schedule.take();
        now_ns = due.due_ns;
        schedule.fired(due, now_ns);
        schedule.grow(std::min<std::uint32_t>(5, 2 + static_cast<std::uint32_t>(rows.size()) / 3),
                      now_ns);
        schedule.ended(due, now_ns + spacing_ns, true);
        EXPECT_TRUE(rows.insert(due.row).second);
        users.insert(due.user);
    }
    EXPECT_TRUE(schedule.over());
    EXPECT_EQ(rows.size(), 20u);
    EXPECT_EQ(users.size(), 5u);
}

}  // namespace
}  // namespace driftless
