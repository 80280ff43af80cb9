// A tree that is entered inside its recording: what is over, what primes, what is still to come and
// when. By hand, and for seeded trees against the rule read row by row.
#include "engine/schedule/start_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

// One tree: rows in any order of time, and who waits for whom.
struct Tree {
    Trace trace;
    Plan plan;  // in the order of time
    std::vector<std::uint32_t> positions;

    std::uint32_t row(std::uint32_t session, std::int64_t at_ns,
                      std::optional<std::uint32_t> on = std::nullopt,
                      Trigger trigger = Trigger::completion) {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.session = session;
        row.at_ns = at_ns;
        trace.rows.push_back(row);
        if (on) {
            trace.dependencies.push_back({row.index, *on, trigger, 7});
        }
        return row.index;
    }
    void join(std::uint32_t row, std::uint32_t on) {
        trace.dependencies.push_back({row, on, Trigger::completion, 0});
    }
    StartPoint enter(const StartRules& rules, const StartBounds& bounds, std::uint64_t seed) {
        std::sort(trace.dependencies.begin(), trace.dependencies.end(),
                  [](const Dependency& a, const Dependency& b) { return a.row < b.row; });
        plan.rows.clear();
        for (const TraceRow& row : trace.rows) {
            plan.rows.push_back({row.at_ns, row.index, 0});
        }
        std::stable_sort(plan.rows.begin(), plan.rows.end(),
                         [](const Planned& a, const Planned& b) { return a.due_ns < b.due_ns; });
        positions.resize(plan.rows.size());
        std::iota(positions.begin(), positions.end(), 0U);
        const TurnGraph graph(trace, plan, {}, 1, nullptr);
        return driftless::enter(trace, plan, graph, positions, rules, bounds, seed);
    }
    std::int64_t behind_first_ns(std::uint32_t position) const {
        return plan.rows[position].due_ns - plan.rows.front().due_ns;
    }
};

StartRules within(double from, double to, bool by_turns = false) {
    StartRules rules;
    rules.from = from;
    rules.to = to;
    rules.by_turns = by_turns;
    return rules;
}

// A row as it is expected, in words: "3 primes 50", "4 starts 10 waits 1", "5 waits 2".
std::vector<std::string> told(const Tree& tree, const StartPoint& point) {
    std::vector<std::string> all;
    for (const EnteredRow& row : point.rows) {
        std::string text = std::to_string(tree.plan.rows[row.position].row);
        text += row.primes ? " primes" : row.starts ? " starts" : "";
        text += row.primes || row.starts ? " " + std::to_string(row.distance_ns) : "";
        text += row.parents > 0 ? " waits " + std::to_string(row.parents) : "";
        all.push_back(std::move(text));
    }
    return all;
}
using Rows = std::vector<std::string>;

// A parent (session 0) with a sub-agent that it joins (1) and one in the background (2).
Tree with_agents() {
    Tree tree;
    tree.row(0, 1'000);     // 0
    tree.row(0, 1'100, 0);  // 1 spawns both
    tree.row(1, 1'110, 1);  // 2
    tree.row(2, 1'120, 1);  // 3
    tree.row(1, 1'200, 2);  // 4
    tree.row(2, 1'300, 3);  // 5
    tree.row(0, 1'400, 1);  // 6 joins the first
    tree.join(6, 4);
    tree.row(2, 1'500, 5);  // 7
    return tree;
}

Rows entered_at(Tree tree, double share, const StartBounds& bounds = {}) {
    const StartPoint point = tree.enter(within(share, share), bounds, 1);
    return told(tree, point);
}

// agentic-rules 1.4, 5 and 6: a child that is not spawned yet begins as recorded, one that goes on
// has a primer as its parent does, one that is over is left out.
TEST(StartPoint, OfAParentAndItsAgents) {
    EXPECT_EQ(entered_at(with_agents(), 0.1),  // 1050
              (Rows{"0 primes 50", "1 starts 50 waits 1", "2 waits 1", "3 waits 1", "4 waits 1",
                    "5 waits 1", "6 waits 2", "7 waits 1"}));
    EXPECT_EQ(entered_at(with_agents(), 0.23),  // 1115
              (Rows{"1 primes 15", "2 primes 5", "3 starts 5 waits 1", "4 starts 85 waits 1",
                    "5 waits 1", "6 starts 285 waits 2", "7 waits 1"}));
    EXPECT_EQ(entered_at(with_agents(), 0.5),  // 1250
              (Rows{"1 primes 150", "3 primes 130", "5 starts 50 waits 1", "6 starts 150 waits 1",
                    "7 waits 1"}))
        << "the joined agent is over";
    EXPECT_EQ(entered_at(with_agents(), 0.9),  // 1450
              (Rows{"5 primes 150", "7 starts 50 waits 1"}))
        << "the parent is over, its child lives";
}

// At the first row nothing is past; at the last one all others are.
TEST(StartPoint, AtBothEnds) {
    const Rows first = entered_at(with_agents(), 0);
    ASSERT_EQ(first.size(), 8u);
    EXPECT_EQ(first.front(), "0 starts 0");
    EXPECT_EQ(entered_at(with_agents(), 1), (Rows{"5 primes 200", "7 starts 0 waits 1"}));
}

TEST(StartPoint, BoundsItsDistances) {
    EXPECT_EQ(entered_at(with_agents(), 0.5, {100, 60}),
              (Rows{"1 primes 100", "3 primes 100", "5 starts 50 waits 1", "6 starts 60 waits 1",
                    "7 waits 1"}));
    EXPECT_EQ(entered_at(with_agents(), 0.5, {0, 0}),
              (Rows{"1 primes 0", "3 primes 0", "5 starts 0 waits 1", "6 starts 0 waits 1",
                    "7 waits 1"}));
    EXPECT_EQ(entered_at(with_agents(), 0.5, {149, 150})[0], "1 primes 149");
    EXPECT_EQ(entered_at(with_agents(), 0.5, {151, 150})[0], "1 primes 150");
    EXPECT_EQ(entered_at(with_agents(), 0.5, {150, 149})[3], "6 starts 149 waits 1");
}

TEST(StartPoint, OfASingleRow) {
    for (const bool by_turns : {false, true}) {
        Tree tree;
        tree.row(0, 500);
        const StartPoint point = tree.enter(within(0.2, 1, by_turns), {}, 3);
        EXPECT_EQ(told(tree, point), Rows{"0 starts 0"});
        EXPECT_EQ(point.place_ns, 0);
    }
}

// Rows of one instant have no timeline: shares of them are those of turns.
TEST(StartPoint, OfEqualInstants) {
    Tree tree;
    for (std::uint32_t turn = 0; turn < 4; ++turn) {
        tree.row(0, 800, turn > 0 ? std::optional(turn - 1) : std::nullopt);
    }
    EXPECT_EQ(told(tree, tree.enter(within(0.5, 0.5), {}, 1)),
              (Rows{"2 primes 0", "3 starts 0 waits 1"}));
    EXPECT_EQ(told(tree, tree.enter(within(0.25, 0.25), {}, 1)),
              (Rows{"1 primes 0", "2 starts 0 waits 1", "3 waits 1"}));
}

// A row that was recorded before what it waits for is over, and waits for nothing.
TEST(StartPoint, OfAParentThatWasRecordedLater) {
    Tree tree;
    tree.row(0, 0);       // 0
    tree.row(0, 50, 0);   // 1
    tree.row(1, 10, 1);   // 2
    tree.row(1, 100, 2);  // 3
    EXPECT_EQ(told(tree, tree.enter(within(0.3, 0.3), {}, 1)),
              (Rows{"0 primes 30", "2 primes 20", "1 starts 20 waits 1", "3 starts 70 waits 1"}));
}

// Rows of no session have nobody to go on: they prime nothing.
TEST(StartPoint, OfRowsWithoutASession) {
    Tree tree;
    tree.row(no_session, 0);
    tree.row(no_session, 100, 0);
    EXPECT_EQ(told(tree, tree.enter(within(0.5, 0.5), {}, 1)), Rows{"1 starts 50"});
}

// agentic-rules 1.4, 3: k of n turns are past and k is drawn from int(lo n) to int(hi n), both at
// most n - 2; the turn k is the one that primes.
TEST(StartPoint, ByTurnsReachesEveryPlace) {
    for (std::uint32_t turns = 2; turns < 9; ++turns) {
        for (const auto& [from, to] : {std::pair(0.0, 1.0), {0.25, 0.75}, {0.5, 0.5}, {1.0, 1.0}}) {
            Tree tree;
            for (std::uint32_t turn = 0; turn < turns; ++turn) {
                tree.row(0, 100 * turn, turn > 0 ? std::optional(turn - 1) : std::nullopt);
            }
            const auto at = [turns = turns](double share) {
                return std::min(static_cast<std::uint32_t>(share * turns), turns - 2);
            };
            std::set<std::uint32_t> wanted;
            for (std::uint32_t turn = at(from); turn <= at(to); ++turn) {
                wanted.insert(turn);
            }
            std::set<std::uint32_t> met;
            for (std::uint64_t seed = 0; seed < 200; ++seed) {
                const StartPoint point = tree.enter(within(from, to, true), {}, seed);
                EXPECT_TRUE(point.rows.front().primes);
                met.insert(point.rows.front().position);
                EXPECT_EQ(point.rows.size(), turns - point.rows.front().position);
            }
            EXPECT_EQ(met, wanted) << turns << " turns from " << from << " to " << to;
        }
    }
}

// The same for a tree and a seed; spread evenly over seeds.
TEST(StartPoint, IsSeeded) {
    Tree tree;
    tree.row(0, 0);
    tree.row(0, 1'000'000, 0);
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
        const StartPoint point = tree.enter(within(0.25, 0.75), {}, seed);
        EXPECT_EQ(point.place_ns, tree.enter(within(0.25, 0.75), {}, seed).place_ns);
        EXPECT_GE(point.place_ns, 250'000);
        EXPECT_LE(point.place_ns, 750'000);
        sum += static_cast<double>(point.place_ns);
    }
    EXPECT_NEAR(sum / 1'000, 500'000, 20'000);
}

// Several sessions, nested, joined or not, with edges against the order of time, and equal
// instants.
Tree seeded_tree(Random& random) {
    Tree tree;
    const auto sessions = static_cast<std::uint32_t>(1 + random.below(5));
    const std::uint64_t span = random.below(3) == 0 ? 4 : 1'000;
    std::vector<std::vector<std::uint32_t>> rows(sessions);
    for (std::uint32_t session = 0; session < sessions; ++session) {
        const bool has_session = random.below(8) > 0;
        const auto turns = 1 + random.below(5);
        std::int64_t at_ns = 5'000 + static_cast<std::int64_t>(random.below(span));
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
            const std::uint32_t row =
                tree.row(has_session ? session : no_session, at_ns,
                         turn > 0 ? std::optional(rows[session].back()) : std::nullopt);
            rows[session].push_back(row);
            at_ns += static_cast<std::int64_t>(random.below(span / 2));
        }
        if (session > 0 && random.below(4) > 0) {
            const std::vector<std::uint32_t>& parent = rows[random.below(session)];
            const std::uint32_t from = parent[random.below(parent.size())];
            tree.trace.dependencies.push_back(
                {rows[session].front(), from,
                 random.below(2) == 0 ? Trigger::dispatch : Trigger::completion, 3});
            if (random.below(2) == 0) {  // joined, by a turn that may be recorded before
                const std::uint32_t joins =
                    tree.row(tree.trace.rows[from].session,
                             5'000 + static_cast<std::int64_t>(random.below(3 * span)), from);
                tree.join(joins, rows[session].back());
            }
        }
    }
    return tree;
}

// The rule, read row by row: `past` are the rows that were recorded before the place.
void expect_by_the_rule(const Tree& tree, const StartPoint& point, std::size_t past,
                        const StartBounds& bounds) {
    const auto row_at = [&](std::size_t position) { return tree.plan.rows[position].row; };
    std::vector<std::size_t> position_of(tree.plan.rows.size());
    for (std::size_t position = 0; position < position_of.size(); ++position) {
        position_of[row_at(position)] = position;
    }
    const auto primes = [&](std::size_t position) {
        const std::uint32_t session = tree.trace.rows[row_at(position)].session;
        bool goes_on = false;
        bool is_last = position < past && session != no_session;
        for (std::size_t other = position + 1; other < position_of.size(); ++other) {
            const bool same = tree.trace.rows[row_at(other)].session == session;
            is_last = is_last && !(same && other < past);
            goes_on = goes_on || (same && other >= past);
        }
        return is_last && goes_on;
    };
    auto told = point.rows.begin();
    for (std::size_t position = 0; position < position_of.size(); ++position) {
        if (position < past && !primes(position)) {
            continue;
        }
        std::uint32_t all = 0;
        std::uint32_t gone = 0;
        std::uint32_t waited = 0;
        for (const Dependency& one : tree.trace.dependencies) {
            if (one.row == row_at(position)) {
                const std::size_t on = position_of[one.on];
                ++all;
                gone += on < past ? 1 : 0;
                waited += on >= past || primes(on) ? 1 : 0;
            }
        }
        ASSERT_NE(told, point.rows.end());
        EXPECT_EQ(told->position, position);
        EXPECT_EQ(told->primes, position < past);
        EXPECT_EQ(told->starts, position >= past && (all == 0 || gone > 0));
        EXPECT_EQ(told->parents, position < past ? 0 : waited);
        const std::int64_t behind_ns =
            tree.behind_first_ns(static_cast<std::uint32_t>(position)) - point.place_ns;
        if (told->primes || told->starts) {
            const auto& most_ns = told->primes ? bounds.lead_max_ns : bounds.wait_max_ns;
            const std::int64_t way_ns = told->primes ? -behind_ns : behind_ns;
            EXPECT_EQ(told->distance_ns, std::min(way_ns, most_ns.value_or(way_ns)));
        }
        ++told;
    }
    EXPECT_EQ(told, point.rows.end());
}

TEST(StartPoint, IsTheRuleForSeededTrees) {
    for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        Tree tree = seeded_tree(random);
        const double a = random.below(4) == 0 ? 0 : random.uniform();
        const double b = random.below(4) == 0 ? 1 : random.uniform();
        const StartRules rules = within(std::min(a, b), std::max(a, b), random.below(2) == 0);
        StartBounds bounds;
        if (random.below(2) == 0) {
            bounds.lead_max_ns = random.below(300);
            bounds.wait_max_ns = random.below(300);
        }
        const StartPoint point = tree.enter(rules, bounds, seed);
        const std::size_t count = tree.plan.rows.size();
        const std::int64_t span_ns = tree.behind_first_ns(static_cast<std::uint32_t>(count - 1));
        std::size_t past = 0;
        if (count > 1 && (rules.by_turns || span_ns == 0)) {
            const auto to_come = std::count_if(point.rows.begin(), point.rows.end(),
                                               [](const EnteredRow& row) { return !row.primes; });
            past = count - static_cast<std::size_t>(to_come);
            const auto at = [count](double share) {
                return 1 + std::min(static_cast<std::size_t>(share * static_cast<double>(count)),
                                    count - 2);
            };
            EXPECT_GE(past, at(rules.from));
            EXPECT_LE(past, at(rules.to));
            EXPECT_EQ(point.place_ns, tree.behind_first_ns(static_cast<std::uint32_t>(past)));
        } else {
            while (tree.behind_first_ns(static_cast<std::uint32_t>(past)) < point.place_ns) {
                ++past;
            }
            const auto place = static_cast<double>(point.place_ns);
            EXPECT_GE(place, rules.from * static_cast<double>(span_ns) - 1);
            EXPECT_LE(place, rules.to * static_cast<double>(span_ns));
        }
        expect_by_the_rule(tree, point, past, bounds);
        if (HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace driftless
