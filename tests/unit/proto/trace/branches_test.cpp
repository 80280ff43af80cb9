// Forks and joins: what comes next on a branch waits for what came before, and for nothing else.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "proto/trace/agents.hpp"

namespace driftless {
namespace {

using Waits = std::vector<std::pair<std::uint32_t, std::int64_t>>;

struct Work {
    Trace trace;
    TraceDraft draft{trace};
    Branches branches;

    /// A request on that branch: what it waits for.
    Waits ask(const BranchPath& path, std::int64_t answer_ns = 0) {
        const std::size_t before = trace.dependencies.size();
        TraceRow row;
        branches.find(path)->pass(draft, row, answer_ns);
        draft.ids().begin();
        at_ns = draft.add(row).at_ns;
        Waits waits;
        for (std::size_t i = before; i < trace.dependencies.size(); ++i) {
            waits.emplace_back(trace.dependencies[i].on, trace.dependencies[i].delay_ns);
        }
        return waits;
    }

    std::int64_t at_ns = 0;  ///< of the request before
};

TEST(Branches, FollowOneAnother) {
    Work work;
    work.branches.find({})->pause(5);
    EXPECT_EQ(work.ask({}), Waits());
    EXPECT_EQ(work.at_ns, 5) << "a pause before the first request";
    work.branches.find({})->pause(7);
    work.branches.find({})->pause(1);
    EXPECT_EQ(work.ask({}, 100), (Waits{{0, 8}}));
    EXPECT_EQ(work.ask({}), (Waits{{1, 0}}));
    EXPECT_EQ(work.at_ns, 113) << "answers take as long as is recorded";
}

TEST(Branches, ForkAndJoin) {
    Work work;
    work.ask({});
    ASSERT_TRUE(work.branches.fork({}, 3));
    EXPECT_EQ(work.ask({0}), (Waits{{0, 0}}));
    work.branches.find({1})->pause(9);
    EXPECT_EQ(work.ask({1}), (Waits{{0, 9}}));
    EXPECT_EQ(work.ask({1}), (Waits{{2, 0}}));
    ASSERT_TRUE(work.branches.join({}));
    EXPECT_EQ(work.ask({}), (Waits{{1, 0}, {3, 0}})) << "not for row 0, which both waited for";
}

// Tools side by side: the longest counts. Branches that did nothing count for nothing.
TEST(Branches, JoinPauses) {
    Work work;
    work.ask({});
    ASSERT_TRUE(work.branches.fork({}, 2));
    work.branches.find({0})->pause(4);
    work.branches.find({1})->pause(6);
    ASSERT_TRUE(work.branches.join({}));
    EXPECT_EQ(work.ask({}), (Waits{{0, 6}}));
    ASSERT_TRUE(work.branches.fork({}, 2));
    ASSERT_TRUE(work.branches.join({}));
    EXPECT_EQ(work.ask({}), (Waits{{1, 0}}));
    ASSERT_TRUE(work.branches.fork({}, 0));
    work.ask({});  // the parent goes on beside its children
    work.ask({7});
    ASSERT_TRUE(work.branches.join({}));
    EXPECT_EQ(work.ask({}), (Waits{{4, 0}, {3, 0}}));
}

TEST(Branches, Nest) {
    Work work;
    work.ask({});
    ASSERT_TRUE(work.branches.fork({}, 2));
    ASSERT_TRUE(work.branches.fork({1}, 2));
    EXPECT_EQ(work.ask({1, 0}), (Waits{{0, 0}}));
    EXPECT_EQ(work.ask({0}), (Waits{{0, 0}}));
    ASSERT_TRUE(work.branches.fork({0}, 1)) << "forks of two branches are open at once";
    EXPECT_EQ(work.ask({0, 0}), (Waits{{2, 0}}));
    ASSERT_TRUE(work.branches.join({1}));
    EXPECT_EQ(work.ask({1}), (Waits{{1, 0}}));
    ASSERT_TRUE(work.branches.join({})) << "which ends the fork inside, too";
    EXPECT_EQ(work.ask({}), (Waits{{2, 0}, {3, 0}, {4, 0}}));
    EXPECT_FALSE(work.branches.join({0}));
}

TEST(Branches, AreOpenedByForks) {
    Branches branches;
    EXPECT_EQ(branches.find({0}), nullptr);
    EXPECT_FALSE(branches.fork({0}, 1));
    EXPECT_FALSE(branches.join({}));
    ASSERT_TRUE(branches.fork({}, 2));
    EXPECT_FALSE(branches.fork({}, 2)) << "already forked";
    EXPECT_NE(branches.find({1}), nullptr);
    EXPECT_EQ(branches.find({2}), nullptr) << "it has two";
    EXPECT_EQ(branches.find({0, 0}), nullptr);
    ASSERT_TRUE(branches.join({}));
    EXPECT_EQ(branches.find({1}), nullptr) << "it has ended";
}

}  // namespace
}  // namespace driftless
