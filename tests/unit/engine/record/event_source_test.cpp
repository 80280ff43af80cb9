// What the events of several engines are called in the run: every request, connection and user has
// a number that no other one has.
#include "engine/record/event_source.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace driftless {
namespace {

Event armed(std::uint32_t request, std::uint32_t user) {
    Due due;
    due.request = request;
    due.user = user;
    return Event::of_armed(due, 0);
}

// Two engines have rows 0, 2, 4 and 1, 3 of a plan of 5, and play each of them twice.
TEST(EventSource, NumbersPlayingsOfRowsOverAllEngines) {
    const std::vector<std::uint32_t> even{0, 2, 4};
    const std::vector<std::uint32_t> odd{1, 3};
    const EventSource engines[] = {{nullptr, &even, 6}, {nullptr, &odd, 4}};
    std::set<std::uint32_t> requests;
    std::set<std::uint32_t> users;
    for (std::uint32_t engine = 0; engine < 2; ++engine) {
        for (std::uint32_t request = 0; request < engines[engine].requests_end; ++request) {
            const Event event = numbered(armed(request, request), engines[engine], {engine, 2}, 5);
            const std::vector<std::uint32_t>& rows = *engines[engine].positions;
            EXPECT_EQ(event.request % 5, rows[request % rows.size()]);
            EXPECT_EQ(event.request / 5, request / rows.size());
            EXPECT_TRUE(requests.insert(event.request).second);
            EXPECT_TRUE(users.insert(event.user).second);
        }
    }
    EXPECT_EQ(*requests.rbegin(), 9u);
    EXPECT_EQ(numbered(armed(4, 0), engines[1], {1, 2}, 5).request, UINT32_MAX) << "it has four";
}

TEST(EventSource, LeavesWhatOneEnginePlays) {
    const Event event = numbered(armed(7, Due::no_user), {}, {0, 1}, 5);
    EXPECT_EQ(event.request, 7u);
    EXPECT_EQ(event.user, Due::no_user);
    const std::vector<std::uint32_t> rows{1, 3};
    const EventSource without_users{nullptr, &rows};
    EXPECT_EQ(numbered(armed(1, Due::no_user), without_users, {1, 2}, 4).request, 3u);
    EXPECT_EQ(numbered(armed(2, Due::no_user), without_users, {1, 2}, 4).request, UINT32_MAX);
}

}  // namespace
}  // namespace driftless
