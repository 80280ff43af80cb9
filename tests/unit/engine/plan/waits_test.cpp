// Barriers: a row waits for what of the other sessions of its tree had ended when it began, and for
// no more of that than is needed. By hand, and for seeded trees against the rule with all waits.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/wait_graph.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

constexpr std::int64_t one_s = 1'000'000'000;

// One tree of sessions whose first rows wait for row 0; rows come in the order of time.
struct Tree {
    Trace trace;
    std::vector<std::uint32_t> last_of;  // [session] its last row

    std::uint32_t row(std::uint32_t session, std::int64_t from_s, std::int64_t to_s) {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.session = session;
        row.at_ns = from_s * one_s;
        row.output_length = row.input_length = 1;
        while (last_of.size() <= session) {
            trace.sessions.push_back(std::to_string(last_of.size()));
            last_of.push_back(no_row);
        }
        const std::uint32_t before = last_of[session] != no_row ? last_of[session] : 0;
        if (row.index > 0) {
            trace.dependencies.push_back({row.index, before, Trigger::dispatch, 0});
        }
        last_of[session] = row.index;
        trace.rows.push_back(row);
        trace.answers_ns.push_back((to_s - from_s) * one_s);
        return row.index;
    }
    BarredTrace barred() const { return add_barriers(make_plan(trace, {}).value(), trace); }
    // "4:2" is a row that waits until row 2 is over.
    std::set<std::string> waits() const {
        std::set<std::string> all;
        for (const Dependency& one : barred().trace.dependencies) {
            if (one.trigger == Trigger::over) {
                EXPECT_EQ(one.delay_ns, 0);
                all.insert(std::to_string(one.row) + ":" + std::to_string(one.on));
            }
        }
        return all;
    }
};

using Waits = std::set<std::string>;

TEST(Barriers, WaitForWhatHadEnded) {
    Tree tree;
    tree.row(0, 0, 10);
    tree.row(1, 12, 20);  // 1
    tree.row(2, 13, 30);  // 2
    tree.row(0, 25, 28);  // 3: 1 had ended, 2 had not
    tree.row(1, 31, 40);  // 4: 3 and 2 had ended
    tree.row(2, 45, 50);  // 5: 4 had ended, and waits for 3 itself
    tree.row(0, 45, 60);  // 6: as 5, which began with it
    tree.row(1, 100, 110);
    // 1 and 2 wait for row 0, 7 for both 5 and 6.
    EXPECT_EQ(tree.waits(), (Waits{"1:0", "2:0", "3:1", "4:2", "4:3", "5:4", "6:4", "7:5", "7:6"}));
    const BarrierFigures figures = tree.barred().figures;
    EXPECT_EQ(figures.waits, 9u);
    EXPECT_EQ(figures.rows, 7u);
    EXPECT_EQ(figures.trees_out_of_order, 0u);
}

TEST(Barriers, DoNotRepeatWhatARowWaitsForAnyway) {
    Tree tree;
    tree.row(0, 0, 10);
    tree.row(1, 12, 20);
    tree.trace.dependencies.back().trigger = Trigger::completion;
    tree.row(0, 30, 40);
    tree.trace.dependencies.push_back({2, 1, Trigger::completion, 0});  // it joins the agent
    EXPECT_EQ(tree.waits(), Waits{});
    EXPECT_EQ(tree.barred().trace.dependencies.size(), tree.trace.dependencies.size());
}

// An answer without a recorded end takes no time; what begins with it does not wait for it.
TEST(Barriers, TakeAnUnknownEndForTheBeginning) {
    Tree tree;
    tree.row(0, 0, 0);
    tree.row(1, 0, 5);
    tree.row(0, 1, 2);
    tree.row(1, 2, 9);
    EXPECT_EQ(tree.waits(), Waits{"3:2"});
    tree.trace.answers_ns.clear();
    EXPECT_EQ(tree.waits(), (Waits{"2:1", "3:2"}));
}

TEST(Barriers, LeaveOtherTreesAlone) {
    Tree tree;
    tree.row(0, 0, 1);
    tree.row(1, 5, 6);
    tree.trace.dependencies.clear();
    EXPECT_EQ(tree.waits(), Waits{});
}

// Where a row waits for one that was recorded behind it, both could wait for ever.
TEST(Barriers, LeaveOutTreesThatAreNotInOrder) {
    Tree tree;
    tree.row(0, 0, 1);
    tree.row(1, 5, 6);
    tree.row(0, 9, 10);
    std::swap(tree.trace.rows[1].index, tree.trace.rows[2].index);
    tree.trace.dependencies = {{1, 0, Trigger::completion, 0}, {2, 1, Trigger::completion, 0}};
    EXPECT_EQ(tree.waits(), Waits{});
    EXPECT_EQ(tree.barred().figures.trees_out_of_order, 1u);
}

// Whatever waits are left out follow from those that are there: every row comes behind all that
// had ended before it.
TEST(Barriers, AreEnough) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        Tree tree;
        std::int64_t at_s = 0;
        std::vector<std::int64_t> free_s(4, 0);  // [session]
        std::vector<std::int64_t> ends_s;
        for (int i = 0; i < 40; ++i) {
            at_s += static_cast<std::int64_t>(random.below(4));
            const auto session = static_cast<std::uint32_t>(i == 0 ? 0 : random.below(4));
            if (free_s[session] > at_s) {
                continue;  // its session is busy
            }
            free_s[session] = at_s + static_cast<std::int64_t>(random.below(12));
            tree.row(session, at_s, free_s[session]);
            ends_s.push_back(free_s[session]);
            if (i > 0 && ends_s[tree.trace.dependencies.back().on] <= at_s) {
                tree.trace.dependencies.back().trigger = Trigger::completion;
            }
        }
        const std::size_t rows = tree.trace.rows.size();
        std::vector<std::set<std::uint32_t>> over(rows);  // [row] those that are over before it
        const Trace barred = tree.barred().trace;
        std::size_t direct = 0;
        std::size_t all = 0;
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (const Dependency& one : barred.dependencies_of(barred.rows[row])) {
                over[row].insert(over[one.on].begin(), over[one.on].end());
                if (one.trigger != Trigger::dispatch) {
                    over[row].insert(one.on);
                    ++direct;
                }
            }
            for (std::uint32_t before = 0; before < row; ++before) {
                const bool had_ended = barred.rows[before].at_ns < barred.rows[row].at_ns &&
                                       ends_s[before] * one_s <= barred.rows[row].at_ns;
                const bool other = barred.rows[before].session != barred.rows[row].session;
                EXPECT_TRUE(!had_ended || !other || over[row].contains(before))
                    << "seed " << seed << ": row " << row << " before the end of " << before;
                all += had_ended && other ? 1 : 0;
            }
        }
        EXPECT_LT(direct, all);
    }
}

// What is known of a closed run before it: who waits, how long it takes at least, and a digest that
// changes with every rule.

struct Chain {
    Trace trace;
    Plan plan;
    Chain() {
        for (std::uint32_t i = 0; i < 4; ++i) {
            TraceRow row{.at_ns = 10 * i, .index = i, .output_length = 3};
            trace.rows.push_back(row);
            plan.rows.push_back({10 * i, i, 0});
        }
        trace.dependencies = {{1, 0, Trigger::completion, 100}, {2, 1, Trigger::dispatch, 50}};
    }
};

TEST(Waits, SayWhatIsKnownBefore) {
    const Chain chain;
    const WaitFigures waits = waits_of(chain.trace, chain.plan, {2, 1});
    EXPECT_EQ(waits.rows, 2u);
    EXPECT_EQ(waits.outside, 0u);
    EXPECT_EQ(waits.last_due_ns, 30);
    EXPECT_EQ(waits.least_ns, 75);
}

TEST(Waits, CountWhatWaitsForRowsOutside) {
    Chain chain;
    chain.plan.rows.erase(chain.plan.rows.begin());
    const WaitFigures waits = waits_of(chain.trace, chain.plan, {});
    EXPECT_EQ(waits.rows, 1u);
    EXPECT_EQ(waits.outside, 1u);
    EXPECT_EQ(waits.least_ns, 60);
}

// An answer of 3 tokens at 1,000 ns each; who waits for a sending does not wait for the answer.
TEST(Waits, EstimateWithAnswers) {
    const Chain chain;
    const Plan answered = answered_in(chain.trace, chain.plan, {}, 1'000);
    ASSERT_EQ(answered.rows.size(), 4u);
    EXPECT_EQ(answered.rows[1].row, 3u);
    EXPECT_EQ(answered.rows[2].due_ns, 3'100);
    EXPECT_EQ(answered.rows[3].due_ns, 3'150);
    EXPECT_EQ(answered.last_due_ns, 3'150);
    EXPECT_EQ(answered.burst_rows_max, 1u);
}

TEST(Waits, DigestIsOfTheRules) {
    const Chain chain;
    std::set<std::uint64_t> digests = {chain.plan.schedule_digest};
    digests.insert(digest_of_waits(chain.trace, chain.plan, {}));
    digests.insert(digest_of_waits(chain.trace, chain.plan, {2, 1}));
    Chain other = chain;
    other.trace.dependencies[0].delay_ns = 101;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    other = chain;
    other.trace.dependencies[1].trigger = Trigger::completion;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    other = chain;
    other.trace.dependencies[1].on = 0;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    EXPECT_EQ(digests.size(), 6u);
    EXPECT_EQ(digest_of_waits(chain.trace, chain.plan, {}),
              digest_of_waits(Chain().trace, Chain().plan, {}));
}

}  // namespace

}  // namespace driftless
