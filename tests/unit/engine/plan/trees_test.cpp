// Sessions that wait for each other are one tree, named after the first of them.
#include "engine/plan/trees.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(Trees, JoinSessionsThatWaitForEachOther) {
    Trace trace;
    trace.sessions = {"a", "a/agent", "b", "a/other", "c"};
    const std::uint32_t sessions[] = {0, 1, 2, 3, 1, no_session, 4};
    for (std::uint32_t i = 0; i < std::size(sessions); ++i) {
        TraceRow row;
        row.index = i;
        row.session = sessions[i];
        trace.rows.push_back(row);
    }
    trace.dependencies = {{1, 0}, {3, 1}, {4, 1}, {5, 2}, {6, 5}};
    EXPECT_EQ(roots_of_sessions(trace), (std::vector<std::uint32_t>{0, 0, 2, 0, 4}));
    trace.dependencies.clear();
    EXPECT_EQ(roots_of_sessions(trace), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace driftless
