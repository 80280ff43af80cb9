// Sets grow together, and each is known by its smallest number.

#include "engine/plan/trees.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace driftless {

namespace {

std::vector<std::uint32_t> smallest(DisjointSets& sets, std::uint32_t count) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t number = 0; number < count; ++number) {
        all.push_back(sets.smallest_of(number));
    }
    return all;
}

TEST(DisjointSets, AreKnownByTheirSmallestNumbers) {
    DisjointSets sets(6);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
    sets.join(5, 4);
    sets.join(2, 2);
    sets.join(3, 1);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 4, 4}));
    sets.join(3, 5);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 1, 1}));
    sets.join(4, 1);  // of one set already
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 1, 1}));
}

// The longest chain that can be: each joins the one before it, from behind.
TEST(DisjointSets, OfLongChains) {
    constexpr std::uint32_t count = 100'000;
    DisjointSets sets(count);
    for (std::uint32_t number = count - 1; number > 0; --number) {
        sets.join(number, number - 1);
    }
    EXPECT_EQ(smallest(sets, count), std::vector<std::uint32_t>(count, 0));
}

// Sessions that wait for each other are one tree, named after the first of them; each has a parent
// where its first row waits for another session.

/// A row of each of these sessions.
Trace trace_of(const std::vector<std::uint32_t>& sessions) {
    Trace trace;
    for (std::uint32_t i = 0; i < sessions.size(); ++i) {
        TraceRow row{.index = i, .session = sessions[i]};
        trace.rows.push_back(row);
    }
    return trace;
}

TEST(Trees, JoinSessionsThatWaitForEachOther) {
    Trace trace = trace_of({0, 1, 2, 3, 1, no_session, 4});
    trace.sessions = {"a", "a/agent", "b", "a/other", "c"};
    trace.dependencies = {{1, 0}, {3, 1}, {4, 1}, {5, 2}, {6, 5}};
    EXPECT_EQ(roots_of_sessions(trace), (std::vector<std::uint32_t>{0, 0, 2, 0, 4}));
    trace.dependencies.clear();
    EXPECT_EQ(roots_of_sessions(trace), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

// Agents inside agents; one that another row of the tree has spawned; a root that waits for its
// agents; an agent that waits for none at its begin.
TEST(Trees, KnowWhoHasSpawnedASession) {
    // Rows:                 0  1  2  3  4  5  6  7
    Trace trace = trace_of({0, 1, 2, 1, 0, 3, 4, no_session});
    trace.sessions = {"a", "a/x", "a/x/y", "a/z", "a/late"};
    trace.dependencies = {{1, 0}, {2, 1}, {3, 1}, {3, 2}, {4, 0},
                          {4, 3}, {4, 6}, {5, 3}, {5, 4}, {6, 7}};
    EXPECT_EQ(parents_of_sessions(trace),
              (std::vector<std::uint32_t>{no_session, 0, 1, 0, no_session}));
    trace.dependencies.clear();
    EXPECT_EQ(parents_of_sessions(trace), (std::vector<std::uint32_t>(5, no_session)));
}

}  // namespace

}  // namespace driftless
