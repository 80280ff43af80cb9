#include "engine/plan/row_trees.hpp"

#include <numeric>

#include "engine/plan/disjoint_sets.hpp"
#include "engine/plan/planned_rows.hpp"

namespace driftless {

namespace {

/// Positions in the plan.
DisjointSets joined(const Trace& trace, const Plan& plan) {
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

}  // namespace

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

}  // namespace driftless
