// Trees, and the rules by which users enter them.

#include "engine/plan/trees.hpp"

#include "engine/plan/users.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {

namespace {

std::vector<std::uint32_t> smallest(DisjointSets& sets, std::uint32_t count) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t number = 0; number < count; ++number) {
        all.push_back(sets.smallest_of(number));
    }
    return all;
}

TEST(DisjointSets, AreKnownByTheirSmallestNumbersInLongChainsToo) {
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
    // The longest chain that can be: each joins the one before it, from behind.
    constexpr std::uint32_t count = 100'000;
    DisjointSets other_sets(count);
    for (std::uint32_t number = count - 1; number > 0; --number) {
        other_sets.join(number, number - 1);
    }
    EXPECT_EQ(smallest(other_sets, count), std::vector<std::uint32_t>(count, 0));
}

// Sessions that wait for each other are one tree, named after the first of them; each has a parent
// where its first row waits for another session.

/// A row of each of these sessions.
Trace trace_of(const std::vector<std::uint32_t>& sessions) {
    Trace trace;
    for (std::uint32_t i = 0; i < sessions.size(); ++i) {
        append_row(trace, {.session = sessions[i]});
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
    // Agents inside agents; one that another row of the tree has spawned; a root that waits for its
    // agents; an agent that waits for none at its begin.
    // Rows:                 0  1  2  3  4  5  6  7
    Trace agents = trace_of({0, 1, 2, 1, 0, 3, 4, no_session});
    agents.sessions = {"a", "a/x", "a/x/y", "a/z", "a/late"};
    agents.dependencies = {{1, 0}, {2, 1}, {3, 1}, {3, 2}, {4, 0},
                           {4, 3}, {4, 6}, {5, 3}, {5, 4}, {6, 7}};
    EXPECT_EQ(parents_of_sessions(agents),
              (std::vector<std::uint32_t>{no_session, 0, 1, 0, no_session}));
    agents.dependencies.clear();
    EXPECT_EQ(parents_of_sessions(agents), (std::vector<std::uint32_t>(5, no_session)));
}

// A tree that is entered inside its recording: what is over, what primes, what is still to come and
// when. By hand, and for seeded trees against the rule read row by row.

// One tree: rows in any order of time, and who waits for whom.
struct Tree {
    Trace trace;
    Plan plan;  // in the order of time
    std::vector<std::uint32_t> positions;

    std::uint32_t row(std::uint32_t session, std::int64_t at_ns,
                      std::optional<std::uint32_t> on = std::nullopt,
                      Trigger trigger = Trigger::completion) {
        const TraceRow& row = append_row(trace, {.at_ns = at_ns, .session = session});
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
    return {.from = from, .to = to, .by_turns = by_turns};
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
    return told(tree, tree.enter(within(share, share), bounds, 1));
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

// agentic-rules 1.4, 3: k of n turns are past and k is drawn from int(lo n) to int(hi n), both at
// most n - 2; the turn k is the one that primes.
TEST(StartPoint, ByTurnsReachesEveryPlaceBySeed) {
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
    // The same for a tree and a seed; spread evenly over seeds.
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
        EXPECT_EQ(std::tuple(told->position, told->primes), std::tuple(position, position < past));
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

UserRules rules(std::uint32_t users, bool recycle) {
    return {.users = users, .recycle = recycle};
}

TEST(TreeOrder, EachTreeComesOnceAndNoneThatIsPlayed) {
    TreeOrder order(3, rules(2, false));
    EXPECT_EQ(order.copies(), 1u);
    for (std::uint32_t tree = 0; tree < 3; ++tree) {
        EXPECT_FALSE(order.used_up());
        const auto drawn = order.draw().value();
        EXPECT_EQ(drawn.tree, tree);
        order.ended(drawn);
    }
    EXPECT_TRUE(order.used_up());
    EXPECT_FALSE(order.draw());
    // A tree all of whose copies are being played is passed over; where all are, nothing comes.
    TreeOrder other_order(2, rules(1, true));
    ASSERT_EQ(other_order.copies(), 2u);
    std::vector<DrawnTree> drawn;
    for (std::uint32_t i = 0; i < 4; ++i) {
        drawn.push_back(other_order.draw().value());
        EXPECT_EQ(std::tuple(drawn.back().tree, drawn.back().pass), std::tuple(i % 2, i / 2));
    }
    EXPECT_NE(drawn[0].copy, drawn[2].copy);
    EXPECT_NE(drawn[1].copy, drawn[3].copy);
    EXPECT_FALSE(other_order.draw());
    other_order.ended(drawn[3]);
    const DrawnTree next = other_order.draw().value();
    EXPECT_EQ(next.tree, 1u) << "both copies of tree 0 are played";
    EXPECT_EQ(std::tuple(next.copy, next.pass), std::tuple(drawn[3].copy, 2u));
    // A million users of two trees have half a million copies of each: no draw goes through them
    // all.
    constexpr std::uint32_t users = 1'000'000;
    TreeOrder third_order(2, rules(users, true));
    EXPECT_EQ(third_order.copies(), users / 2 + 1);
    std::set<std::pair<std::uint32_t, std::uint32_t>> played;
    for (std::uint32_t user = 0; user < users; ++user) {
        const DrawnTree other_drawn = third_order.draw().value();
        ASSERT_LT(other_drawn.copy, third_order.copies());
        ASSERT_TRUE(played.emplace(other_drawn.tree, other_drawn.copy).second);
    }
    EXPECT_EQ(TreeOrder::copies_of(1, rules(UINT32_MAX, true)), std::uint64_t{1} << 32);
    EXPECT_EQ(TreeOrder::copies_of(1, rules(UINT32_MAX, false)), 1u);
}

constexpr std::int64_t second_ns = 1'000 * one_ms;

TEST(FailurePause, DoublesFromATenthToHalfAMinute) {
    EXPECT_EQ(failure_pause_ns(1), 100 * one_ms);
    for (std::uint32_t failures = 1; failures < 9; ++failures) {
        EXPECT_EQ(failure_pause_ns(failures + 1), 2 * failure_pause_ns(failures));
    }
    EXPECT_EQ(std::tuple(failure_pause_ns(9), failure_pause_ns(10), failure_pause_ns(11)),
              std::tuple(25'600 * one_ms, 30 * second_ns, 30 * second_ns));
    EXPECT_EQ(failure_pause_ns(UINT32_MAX), 30 * second_ns);
}

/// Users under caps in seconds.
UserRules capped(std::uint32_t users, std::optional<int> tree_s, std::optional<int> system_s = {}) {
    UserRules rules = some_users(users);
    const auto ns = [](int seconds) { return seconds * second_ns; };
    rules.idle.tree_ns = tree_s ? std::optional(ns(*tree_s)) : std::nullopt;
    rules.idle.system_ns = system_s ? std::optional(ns(*system_s)) : std::nullopt;
    return rules;
}

// The idle time of a tree, at the cap - 1, the cap, and the cap + 1.
TEST(IdleCaps, OfATreeMoveItAsAWhole) {
    for (const std::int64_t gap_ns : {5 * second_ns - 1, 5 * second_ns, 5 * second_ns + 1}) {
        const UserCorpus corpus = UserCorpus().chain(0, 3, gap_ns);
        const UserPlay play = play_users(corpus, capped(1, 5));
        const std::int64_t wanted_ns = std::min(gap_ns, 5 * second_ns);
        EXPECT_EQ(play.due_ns(1), one_ms + wanted_ns);
        EXPECT_EQ(play.due_ns(2), 2 * (one_ms + wanted_ns));
        EXPECT_EQ(play.idle.tree_jumps, gap_ns > wanted_ns ? 2u : 0u);
        EXPECT_EQ(play.idle.tree_skipped_ns, 2 * (gap_ns - wanted_ns));
    }
    // All of the tree moves by one amount: neither order nor distances change, and what is in
    // flight counts as not idle.
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(1, 20 * second_ns, {0}, 20 * second_ns);
    corpus.row(2, 23 * second_ns, {0}, 23 * second_ns);
    corpus.row(3, 23 * second_ns, {0}, 23 * second_ns);
    corpus.row(4, 40 * second_ns, {0}, 40 * second_ns);
    const UserPlay play = play_users(corpus, capped(1, 5));
    EXPECT_EQ(std::tuple(play.due_ns(1), play.due_ns(2), play.due_ns(3)),
              std::tuple(one_ms + 5 * second_ns, one_ms + 8 * second_ns, one_ms + 8 * second_ns));
    EXPECT_EQ(play.due_ns(4), 2 * one_ms + 13 * second_ns);
    EXPECT_EQ(play.idle.tree_jumps, 2u);
}

// The other tree is not touched, and keeps the whole from being idle.
TEST(IdleCaps, OfOneTreeLeaveTheOthersAndComeFirst) {
    const UserCorpus corpus = UserCorpus().chain(0, 2, 20 * second_ns).chain(1, 2, 4 * second_ns);
    const UserPlay play = play_users(corpus, capped(2, 5));
    EXPECT_EQ(play.due_ns(1), one_ms + 5 * second_ns);
    EXPECT_EQ(play.due_ns(3), one_ms + 4 * second_ns);
    // Nothing at all is in flight: all move by the same, of whatever tree.
    const UserCorpus both = UserCorpus().chain(0, 2, 20 * second_ns).chain(1, 2, 33 * second_ns);
    const UserPlay moved = play_users(both, capped(2, {}, 10));
    EXPECT_EQ(moved.due_ns(1), one_ms + 10 * second_ns);
    EXPECT_EQ(moved.due_ns(3), 2 * one_ms + 20 * second_ns) << "13 s behind, cut again";
    EXPECT_EQ(std::tuple(moved.idle.system_jumps, moved.idle.tree_jumps), std::tuple(2u, 0u));
    // First each tree is capped, then the system: 30 and 12 become 8 and 8, and 5 and 5.
    const UserCorpus other_corpus =
        UserCorpus().chain(0, 2, 30 * second_ns).chain(1, 2, 12 * second_ns);
    const UserPlay other_play = play_users(other_corpus, capped(2, 8, 5));
    EXPECT_EQ(other_play.due_ns(1), one_ms + 5 * second_ns);
    EXPECT_EQ(other_play.due_ns(3), one_ms + 5 * second_ns);
    EXPECT_EQ(other_play.idle.tree_skipped_ns, (30 - 8 + 12 - 8) * second_ns);
    EXPECT_EQ(other_play.idle.system_skipped_ns, 3 * second_ns);
}

// Fails the first attempts of that row.
Answers failing(std::uint32_t row, std::uint32_t times) {
    return [=](const Due& due) { return TurnEnd(due.row != row || due.attempt >= times); };
}

UserRules retrying(std::uint32_t times) {
    return {.users = 1, .failures = {.rule = FailureRule::retry, .retries_max = times}};
}

// A pause is no idle time of the trace.
TEST(IdleCaps, KnowPausesRetriesAndTheTime) {
    const UserCorpus corpus = UserCorpus().chain(0, 2, second_ns);
    UserRules rules = retrying(5);
    rules.idle.tree_ns = rules.idle.system_ns = 10 * one_ms;
    const UserPlay play = play_users(corpus, rules, failing(0, 3));
    const std::vector<Sent> first = play.of(0);
    ASSERT_EQ(first.size(), 4u);
    EXPECT_EQ(std::tuple(first[1].due.due_ns, first[2].due.due_ns, first[3].due.due_ns),
              std::tuple(101 * one_ms, 302 * one_ms, 703 * one_ms));
    EXPECT_EQ(play.due_ns(1), 714 * one_ms);
    // What is sent again within the cap ends the idle time: the rest need not move for it.
    for (const bool of_tree : {true, false}) {
        UserCorpus other_corpus;
        other_corpus.row(0, 0);
        other_corpus.row(1, 1'050 * one_ms);
        UserRules other_rules = retrying(1);
        other_corpus.trace.dependencies.push_back({1, 0, Trigger::dispatch, 1'050 * one_ms});
        (of_tree ? other_rules.idle.tree_ns : other_rules.idle.system_ns) = second_ns;
        const UserPlay other_play = play_users(other_corpus, other_rules, failing(0, 1));
        ASSERT_EQ(other_play.of(0).size(), 2u);
        EXPECT_EQ(other_play.of(0)[1].due.due_ns, 101 * one_ms);
        EXPECT_EQ(other_play.due_ns(1), 1'050 * one_ms) << of_tree;
    }
    // Hidden behind --for, and moved into it by a cap.
    const UserCorpus other_corpus = UserCorpus().chain(0, 3, 20 * second_ns);
    rules = some_users(1);
    rules.for_ns = 15 * second_ns;
    EXPECT_EQ(play_users(other_corpus, rules).sent.size(), 1u);
    for (const bool of_tree : {true, false}) {
        UserRules capped = rules;
        (of_tree ? capped.idle.tree_ns : capped.idle.system_ns) = 6 * second_ns;
        const UserPlay other_play = play_users(other_corpus, capped);
        EXPECT_EQ(other_play.sent.size(), 3u) << of_tree;
        EXPECT_EQ(other_play.due_ns(2), 2 * (6 * second_ns + one_ms)) << of_tree;
        capped.for_ns = other_play.due_ns(2);
        EXPECT_EQ(play_users(other_corpus, capped).sent.size(), 2u) << of_tree;
        capped.for_ns = other_play.due_ns(2) + 1;
        EXPECT_EQ(play_users(other_corpus, capped).sent.size(), 3u) << of_tree;
    }
}

// The turns behind a failed one fall with it; what does not wait for it goes on.
TEST(Failures, EndTheTreeOrAreContinuedBehind) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(0, 10 * one_ms, {0}, 5 * one_ms);
    corpus.row(1, 10 * one_ms, {0}, 5 * one_ms);
    corpus.row(0, 20 * one_ms, {1});
    corpus.row(1, 20 * one_ms, {2});
    const UserPlay play = play_users(corpus, some_users(1), failing(1, 99));
    EXPECT_EQ(play.sent.size(), 4u);
    ASSERT_EQ(play.dropped.size(), 1u);
    EXPECT_EQ(std::tuple(play.dropped[0].row, play.dropped[0].failed_row), std::tuple(3u, 1u));
    EXPECT_EQ(play.due_ns(4), 7 * one_ms);
    const UserCorpus other_corpus = UserCorpus().chain(0, 3, 5 * one_ms);
    const UserRules rules{.users = 1, .failures = {.rule = FailureRule::go_on}};
    const UserPlay other_play =
        play_users(other_corpus, rules, [](const Due&) { return TurnEnd(false); });
    EXPECT_TRUE(other_play.dropped.empty());
    ASSERT_EQ(other_play.sent.size(), 3u);
    EXPECT_EQ(other_play.due_ns(1), 6 * one_ms);
    EXPECT_EQ(other_play.due_ns(2), 12 * one_ms);
}

// N attempts more at most, each behind a longer pause; then as a tree that ends.
TEST(Failures, AreSentAgain) {
    for (const std::uint32_t times : {1u, 2u, 30u}) {
        const UserCorpus corpus = UserCorpus().chain(0, 2, 5 * one_ms);
        const UserPlay play = play_users(corpus, retrying(times), failing(0, times));
        const std::vector<Sent> first = play.of(0);
        ASSERT_EQ(first.size(), times + 1);
        for (std::uint32_t attempt = 0; attempt < first.size(); ++attempt) {
            EXPECT_EQ(first[attempt].due.attempt, attempt);
            if (attempt > 0) {
                EXPECT_EQ(first[attempt].due.due_ns,
                          first[attempt - 1].end_ns + failure_pause_ns(attempt));
            }
        }
        EXPECT_EQ(play.due_ns(1), first.back().end_ns + 5 * one_ms);
        const UserPlay failed = play_users(corpus, retrying(times), failing(0, times + 1));
        EXPECT_EQ(failed.of(0).size(), times + 1);
        EXPECT_TRUE(failed.of(1).empty());
        ASSERT_EQ(failed.dropped.size(), 1u);
    }
}

// After a 429 when its server says, or behind the pause of any failure; 31 times at most.
TEST(Failures, WaitFor429) {
    const UserCorpus corpus = UserCorpus().chain(0, 2, 5 * one_ms);
    const UserRules rules{.users = 1, .failures = {.waits_for_429 = true}};
    for (const std::int64_t said_ns : {std::int64_t{0}, 3 * second_ns, TurnEnd::unknown}) {
        const auto busy = [said_ns](std::uint32_t times) {
            return [=](const Due& due) {
                TurnEnd end(due.row != 0 || due.attempt >= times);
                end.is_429 = !end.answered;
                end.retry_after_ns = end.answered ? TurnEnd::unknown : said_ns;
                return end;
            };
        };
        const UserPlay play = play_users(corpus, rules, busy(3));
        const std::vector<Sent> first = play.of(0);
        ASSERT_EQ(first.size(), 4u);
        for (std::uint32_t attempt = 1; attempt < 4; ++attempt) {
            EXPECT_EQ(first[attempt].due.due_ns - first[attempt - 1].end_ns,
                      said_ns == TurnEnd::unknown ? failure_pause_ns(attempt) : said_ns);
        }
        EXPECT_EQ(play.sent.size(), 5u);
        EXPECT_EQ(play_users(corpus, rules, busy(31)).of(0).size(), 32u);
        EXPECT_EQ(play_users(corpus, rules, busy(32)).dropped.size(), 1u);
    }
    EXPECT_EQ(play_users(corpus, rules, failing(0, 1)).sent.size(), 1u) << "another failure";
}

// A further attempt that would be due when the time is up does not exist.
TEST(Failures, EndWithTheTimeAndPauseBetweenTrees) {
    const UserCorpus corpus = UserCorpus().chain(0, 2, 5 * one_ms);
    for (const std::int64_t for_ns : {100 * one_ms, 101 * one_ms, 101 * one_ms + 1}) {
        UserRules rules = retrying(3);
        rules.for_ns = for_ns;
        const UserPlay play = play_users(corpus, rules, failing(0, 1));
        EXPECT_EQ(play.of(0).size(), for_ns > 101 * one_ms ? 2u : 1u) << for_ns;
        EXPECT_TRUE(play.dropped.empty());
    }
    // Trees in which nothing is answered: each begins behind a longer pause, until one is answered.
    UserCorpus other_corpus;
    for (std::uint32_t session = 0; session < 6; ++session) {
        other_corpus.chain(session, 1, 0);
    }
    const UserPlay play = play_users(other_corpus, some_users(1),
                                     [](const Due& due) { return TurnEnd(due.row >= 3); });
    ASSERT_EQ(play.sent.size(), 6u);
    EXPECT_EQ(std::tuple(play.due_ns(1), play.due_ns(2)), std::tuple(101 * one_ms, 302 * one_ms));
    EXPECT_EQ(std::tuple(play.due_ns(3), play.due_ns(4)), std::tuple(703 * one_ms, 704 * one_ms));
    EXPECT_EQ(play.due_ns(5), 705 * one_ms);
}

// Behind the warm-up nothing is due in time; with no primers, not even before it.
TEST(EndOfTheTime, CountsBehindTheWarmUp) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(0, 100 * one_ms, {0});
    UserRules rules{.users = 1, .start = {.from = 0.5, .to = 0.5}};
    for (const std::int64_t for_ns : {std::int64_t{1}, 50 * one_ms, 50 * one_ms + 1}) {
        rules.for_ns = for_ns;
        const UserPlay play = play_users(corpus, rules);
        EXPECT_EQ(play.sent.size(), for_ns > 50 * one_ms ? 2u : 1u);
        EXPECT_EQ(play.measured_from_ns, 50 * one_ms);
    }
    UserCorpus other;  // a parent that is over, and its agent that has not begun
    other.row(0, 0);
    other.row(1, 100 * one_ms, {0});
    rules.for_ns = 50 * one_ms;
    const UserPlay none = play_users(other, rules);
    EXPECT_TRUE(none.sent.empty());
    EXPECT_EQ(none.measured_from_ns, 0);
    rules.for_ns = 50 * one_ms + 1;
    EXPECT_EQ(play_users(other, rules).sent.size(), 1u);
    rules.for_ns = one_ms;
    rules.idle.tree_ns = 0;
    EXPECT_EQ(play_users(other, rules).sent.size(), 1u) << "moved to the begin";
    // The time counts from the begin of the measurement, not from time 0.
    const UserCorpus other_corpus = UserCorpus().chain(0, 6, 9 * one_ms);
    rules = some_users(1);
    rules.start.warmup_requests = 2;
    for (const auto& [for_ns, sent] : {std::pair(9 * one_ms, 2u),
                                       {9 * one_ms + 1, 3u},
                                       {19 * one_ms, 3u},
                                       {19 * one_ms + 1, 4u}}) {
        rules.for_ns = for_ns;
        EXPECT_EQ(play_users(other_corpus, rules).sent.size(), sent) << for_ns;
    }
}

// However often turns are sent again before anybody arms them, what is told of them is bounded.
TEST(UserRules, TellOnceWhatIsToBeArmed) {
    UserCorpus corpus;
    for (std::uint32_t session = 0; session < 3; ++session) {
        corpus.chain(session, 2, one_ms);
    }
    UserRules rules{.users = 3, .failures = {.waits_for_429 = true}};
    Schedule schedule = corpus.schedule(rules);
    TurnEnd refused = false;
    refused.is_429 = true;
    std::uint32_t sent = 0;
    while (schedule.peek() != nullptr) {
        const Due due = schedule.take();
        schedule.fired(due, due.due_ns);
        schedule.ended(due, due.due_ns + one_ms, refused);
        ++sent;
        while (const std::optional<Due> dropped = schedule.dropped()) {
            schedule.take_dropped();
            schedule.ended(*dropped, due.due_ns + one_ms, false);
        }
    }
    EXPECT_EQ(sent, 3 * (Due::attempts_max + 1U));
    EXPECT_TRUE(schedule.over());
}

}  // namespace
}  // namespace driftless
