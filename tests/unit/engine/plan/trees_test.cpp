// Sessions that wait for each other are one tree, named after the first of them; each has a parent
// where its first row waits for another session.
#include "engine/plan/trees.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

/// A row of each of these sessions.
Trace trace_of(const std::vector<std::uint32_t>& sessions) {
    Trace trace;
    for (std::uint32_t i = 0; i < sessions.size(); ++i) {
        TraceRow row;
        row.index = i;
        row.session = sessions[i];
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
