#include "engine/plan/user_rules.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

TreeOrder::TreeOrder(std::uint32_t trees, const UserRules& rules)
    : order_(trees), recycles_(rules.recycle) {
    CHECK(trees > 0 && rules.users > 0);
    copies_ = static_cast<std::uint32_t>(copies_of(trees, rules));
    free_.resize(std::size_t{copies_} * trees);
    free_count_.assign(trees, copies_);
    free_in_all_ = free_.size();
    for (std::size_t place = 0; place < free_.size(); ++place) {
        free_[place] = copies_ - 1 - static_cast<std::uint32_t>(place % copies_);  // 0 on top
    }
    std::iota(order_.begin(), order_.end(), 0U);
    if (rules.order == TreeRule::shuffle) {
        Random random(rules.seed);
        for (std::uint32_t left = trees; left > 1; --left) {
            const auto other = static_cast<std::uint32_t>(random.below(left));
            std::swap(order_[left - 1], order_[other]);
        }
    }
}

std::uint64_t TreeOrder::copies_of(std::uint32_t trees, const UserRules& rules) {
    return rules.recycle ? 1 + (std::uint64_t{rules.users} + trees - 1) / trees : 1;
}

std::optional<DrawnTree> TreeOrder::draw() {
    if (free_in_all_ == 0) {
        return std::nullopt;
    }
    while (!used_up()) {  // ends: some copy is not being played, and its tree comes
        if (next_ == order_.size()) {
            next_ = 0;
            ++pass_;
        }
        const std::uint32_t tree = order_[next_++];
        if (free_count_[tree] > 0) {
            --free_in_all_;
            const std::uint32_t top = --free_count_[tree];
            return DrawnTree{tree, free_[std::size_t{tree} * copies_ + top], pass_};
        }
    }
    return std::nullopt;
}

void TreeOrder::ended(const DrawnTree& drawn) {
    std::uint32_t& count = free_count_[drawn.tree];
    CHECK(count < copies_ && drawn.copy < copies_);
    free_[std::size_t{drawn.tree} * copies_ + count] = drawn.copy;
    ++count;
    ++free_in_all_;
}

namespace {

/// The rows before the place are the first `past` of the tree.
struct Place {
    std::size_t past = 0;
    std::int64_t at_ns = 0;  ///< as the plan's dues
};

Place place_in_time(const Plan& plan, std::span<const std::uint32_t> rows, double share) {
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
Place place_in_turns(const Plan& plan, std::span<const std::uint32_t> rows, const StartRules& rules,
                     Random& random) {
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

Place place_of(const Plan& plan, std::span<const std::uint32_t> rows, const StartRules& rules,
               std::uint64_t seed) {
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

/// What is known of a row of the tree on the way.
struct Row {
    bool is_past = false;
    EnteredRow entered;
};

using Rows = std::unordered_map<std::uint32_t, Row>;  // [position]

void find_primers(const Trace& trace, const Plan& plan, std::span<const std::uint32_t> rows,
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
void link(const TurnGraph& graph, std::span<const std::uint32_t> rows, Rows& all) {
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

std::int64_t at_most(std::int64_t ns, const std::optional<std::int64_t>& most_ns) {
    return most_ns ? std::min(ns, *most_ns) : ns;
}

}  // namespace

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
