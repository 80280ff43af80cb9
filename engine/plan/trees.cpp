#include "engine/plan/trees.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "engine/plan/forecast.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

std::vector<std::uint32_t> roots_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> roots(trace.sessions.size());
    std::iota(roots.begin(), roots.end(), 0U);
    if (trace.dependencies.empty() || roots.empty()) {
        return roots;
    }
    DisjointSets sets(roots.size());
    const RowsByIndex rows(trace);
    for (const Dependency& one : trace.dependencies) {
        const std::uint32_t own = rows.session_of(one.row);
        const std::uint32_t other = rows.session_of(one.on);
        if (own != no_session && other != no_session) {
            sets.join(own, other);
        }
    }
    for (std::uint32_t session = 0; session < roots.size(); ++session) {
        roots[session] = sets.smallest_of(session);
    }
    return roots;
}

std::vector<std::uint32_t> parents_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> parents(trace.sessions.size(), no_session);
    if (trace.dependencies.empty() || parents.empty()) {
        return parents;
    }
    const RowsByIndex rows(trace);
    const std::vector<std::uint32_t> roots = roots_of_sessions(trace);
    std::vector<std::uint32_t> first(parents.size(), no_row);  // [session] index of its first row
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            first[row.session] = std::min(first[row.session], row.index);  // no_row is the greatest
        }
    }
    for (const Dependency& one : trace.dependencies) {
        const std::uint32_t own = rows.session_of(one.row);
        const std::uint32_t other = rows.session_of(one.on);
        if (own != no_session && other != own && first[own] == one.row && roots[own] != own) {
            parents[own] = std::min(parents[own], other);  // no_session is the greatest
        }
    }
    return parents;
}

/// Positions in the plan.
static DisjointSets joined(const Trace& trace, const Plan& plan) {
    constexpr std::uint32_t none = UINT32_MAX;
    DisjointSets sets(plan.rows.size());
    std::vector<std::uint32_t> first_of_session(trace.sessions.size(), none);
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        const std::uint32_t session = trace.rows[plan.rows[position].row].session;
        if (session >= first_of_session.size()) {
            continue;
        }
        if (first_of_session[session] == none) {
            first_of_session[session] = position;
        }
        sets.join(first_of_session[session], position);
    }
    const PlannedRows planned(trace, plan);
    for (const Dependency& one : trace.dependencies) {
        const std::optional<std::uint32_t> row = planned.find(one.row);
        const std::optional<std::uint32_t> on = planned.find(one.on);
        if (row && on) {
            sets.join(*row, *on);
        }
    }
    return sets;
}

RowTrees RowTrees::of_single_rows(const Trace& trace, const Plan& plan) {
    RowTrees trees;
    trees.rows_ = file_order(trace, plan);
    trees.tree_of_.resize(plan.rows.size());
    for (std::uint32_t tree = 0; tree < trees.rows_.size(); ++tree) {
        trees.tree_of_[trees.rows_[tree]] = tree;
    }
    trees.begin_.resize(plan.rows.size() + 1);
    std::iota(trees.begin_.begin(), trees.begin_.end(), 0U);
    return trees;
}

RowTrees::RowTrees(const Trace& trace, const Plan& plan) : tree_of_(plan.rows.size()) {
    constexpr std::uint32_t unnumbered = UINT32_MAX;
    DisjointSets sets = joined(trace, plan);
    std::vector<std::uint32_t> number(plan.rows.size(), unnumbered);  // [first position]
    for (const std::uint32_t position : file_order(trace, plan)) {
        std::uint32_t& tree = number[sets.smallest_of(position)];
        if (tree == unnumbered) {
            tree = static_cast<std::uint32_t>(begin_.size());
            begin_.push_back(0);
        }
        tree_of_[position] = tree;
        ++begin_[tree];
    }
    begin_.push_back(0);
    std::exclusive_scan(begin_.begin(), begin_.end(), begin_.begin(), 0U);
    rows_.resize(plan.rows.size());
    std::vector<std::uint32_t> next = begin_;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        rows_[next[tree_of_[position]]++] = position;
    }
}

static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

namespace {

/// What is known of a prefix: in how many ways it goes on, and the first row that has it.
struct KnownPrefix {
    std::uint32_t branches = 0;
    std::uint32_t row = nobody;
};

}  // namespace

static void count_branches(const Trace& trace, PrefixMap<KnownPrefix>& prefixes) {
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            continue;
        }
        KnownPrefix* before = nullptr;
        (void)for_each_prefix(trace, row, row.ids_count, [&](std::uint64_t prefix) {
            KnownPrefix& known = prefixes[prefix];
            if (known.row == nobody) {
                known.row = row.index;
                if (before != nullptr) {
                    ++before->branches;
                }
            }
            before = &known;
            return true;
        });
    }
}

/// Rows of no session that share a prefix which is no preamble.
static void join_by_prefix(const Trace& trace, DisjointSets& groups) {
    std::size_t prefixes_max = 0;
    for (const TraceRow& row : trace.rows) {
        prefixes_max += row.session == no_session ? row.ids_count : 0;
    }
    PrefixMap<KnownPrefix> prefixes(prefixes_max);
    count_branches(trace, prefixes);
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            continue;
        }
        (void)for_each_prefix(trace, row, row.ids_count, [&](std::uint64_t prefix) {
            const KnownPrefix& known = prefixes[prefix];
            if (known.branches <= preamble_branches) {
                groups.join(row.index, known.row);
            }
            return true;
        });
    }
}

static void join_by_session(const Trace& trace, DisjointSets& groups) {
    std::vector<std::uint32_t> first(trace.sessions.size(), nobody);
    for (const TraceRow& row : trace.rows) {
        if (row.session == no_session) {
            continue;
        }
        std::uint32_t& known = first[row.session];
        known = known == nobody ? row.index : known;
        groups.join(row.index, known);
    }
}

Families families_of(const Trace& trace) {
    // By index: a trace as it was read has each from 0 on once.
    DisjointSets groups(trace.rows.size());
    join_by_session(trace, groups);
    join_by_prefix(trace, groups);
    for (const Dependency& one : trace.dependencies) {
        groups.join(one.row, one.on);
    }
    std::vector<std::uint32_t> number(trace.rows.size(), 0);
    Families families;
    for (std::uint32_t index = 0; index < number.size(); ++index) {
        const std::uint32_t root = groups.smallest_of(index);
        number[index] = root == index ? families.count++ : number[root];
    }
    families.of_row.reserve(trace.rows.size());
    for (const TraceRow& row : trace.rows) {
        CHECK(row.index < number.size());
        families.of_row.push_back(number[row.index]);
    }
    return families;
}

namespace {

/// The rows before the place are the first `past` of the tree.
struct Place {
    std::size_t past = 0;
    std::int64_t at_ns = 0;  ///< as the plan's dues
};

}  // namespace

static Place place_in_time(const Plan& plan, std::span<const std::uint32_t> rows, double share) {
    const std::int64_t first_ns = plan.rows[rows.front()].due_ns;
    const std::int64_t last_ns = plan.rows[rows.back()].due_ns;
    Place place;
    place.at_ns =
        first_ns + static_cast<std::int64_t>(share * static_cast<double>(last_ns - first_ns));
    place.at_ns = std::min(place.at_ns, last_ns);
    while (plan.rows[rows[place.past]].due_ns < place.at_ns) {  // ends: the last is not before it
        ++place.past;
    }
    return place;
}

/// Behind the turn of that share; there is always one more.
static Place place_in_turns(const Plan& plan, std::span<const std::uint32_t> rows,
                            const StartRules& rules, Random& random) {
    CHECK(rows.size() > 1);
    const auto turn_at = [&rows](double share) {
        const auto turn = static_cast<std::size_t>(share * static_cast<double>(rows.size()));
        return std::min(turn, rows.size() - 2);
    };
    const std::size_t first = turn_at(rules.from);
    const std::size_t last = turn_at(rules.to);
    Place place;
    place.past = 1 + first + static_cast<std::size_t>(random.below(last - first + 1));
    place.at_ns = plan.rows[rows[place.past]].due_ns;
    return place;
}

static Place place_of(const Plan& plan, std::span<const std::uint32_t> rows,
                      const StartRules& rules, std::uint64_t seed) {
    Random random(seed);
    if (rows.size() == 1) {
        return {0, plan.rows[rows.front()].due_ns};
    }
    // Rows without instants of their own have no timeline.
    const bool timeless = plan.rows[rows.front()].due_ns == plan.rows[rows.back()].due_ns;
    return rules.by_turns || timeless
               ? place_in_turns(plan, rows, rules, random)
               : place_in_time(plan, rows, rules.from + random.uniform() * (rules.to - rules.from));
}

namespace {

/// What is known of a row of the tree on the way.
struct Row {
    bool is_past = false;
    EnteredRow entered;
};

using Rows = std::unordered_map<std::uint32_t, Row>;  // [position]

}  // namespace

static void find_primers(const Trace& trace, const Plan& plan, std::span<const std::uint32_t> rows,
                         Rows& all) {
    std::unordered_map<std::uint32_t, std::uint32_t> last_past;  // [session] position
    for (const std::uint32_t position : rows) {
        const std::uint32_t session = trace.rows[plan.rows[position].row].session;
        if (session == no_session) {
            continue;
        }
        if (all[position].is_past) {
            last_past[session] = position;
        } else if (const auto past = last_past.find(session); past != last_past.end()) {
            all[past->second].entered.primes = true;
        }
    }
}

/// Who waits for whom of those that are left.
static void link(const TurnGraph& graph, std::span<const std::uint32_t> rows, Rows& all) {
    for (const std::uint32_t position : rows) {
        const Row& row = all[position];
        for (const TurnGraph::Edge& edge : graph.behind(position)) {
            Row& child = all[edge.child];
            const bool goes = !row.is_past || row.entered.primes;
            child.entered.parents += goes && !child.is_past ? 1 : 0;
            const bool times = edge.trigger != Trigger::over && row.is_past && !child.is_past;
            child.entered.starts = child.entered.starts || times;
        }
    }
}

static std::int64_t at_most(std::int64_t ns, const std::optional<std::int64_t>& most_ns) {
    return most_ns ? std::min(ns, *most_ns) : ns;
}

StartPoint enter(const Trace& trace, const Plan& plan, const TurnGraph& graph,
                 std::span<const std::uint32_t> rows, const StartRules& rules,
                 const StartBounds& bounds, std::uint64_t seed) {
    CHECK(!rows.empty());
    const Place place = place_of(plan, rows, rules, seed);
    CHECK(place.past < rows.size());
    Rows all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        all[rows[i]].is_past = i < place.past;
    }
    find_primers(trace, plan, rows, all);
    link(graph, rows, all);
    StartPoint point;
    point.place_ns = place.at_ns - plan.rows[rows.front()].due_ns;
    for (const std::uint32_t position : rows) {
        Row& row = all[position];
        EnteredRow& entered = row.entered;
        if (row.is_past && !entered.primes) {
            continue;
        }
        entered.position = position;
        entered.starts = entered.starts || (!row.is_past && graph.begins_with_tree(position));
        const std::int64_t recorded_ns = plan.rows[position].due_ns;
        entered.distance_ns = entered.primes
                                  ? at_most(place.at_ns - recorded_ns, bounds.lead_max_ns)
                                  : at_most(recorded_ns - place.at_ns, bounds.wait_max_ns);
        CHECK(entered.distance_ns >= 0);
        point.rows.push_back(entered);
    }
    return point;
}

}  // namespace driftless
