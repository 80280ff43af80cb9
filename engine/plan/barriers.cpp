#include "engine/plan/barriers.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/plan/planned_rows.hpp"
#include "engine/plan/row_trees.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/flat_agents.hpp"

namespace driftless {

namespace {

/// A row of a tree, as it was recorded.
struct Recorded {
    std::uint32_t row = 0;  ///< index
    std::int64_t at_ns = 0;
    std::int64_t end_ns = 0;
};

bool had_ended(const Recorded& before, const Recorded& row) {
    return before.at_ns < row.at_ns && before.end_ns <= row.at_ns + end_tolerance_ns;
}

class Barriers {
  public:
    Barriers(const Plan& plan, const Trace& trace)
        : plan_(plan), trace_(trace), planned_(trace, plan) {}

    /// `rows`: of a tree, in the order of the plan, which is that of their beginnings.
    void add_tree(std::span<const std::uint32_t> rows);

    std::vector<Dependency> take() { return std::move(barriers_); }
    const BarrierFigures& figures() const { return figures_; }

  private:
    bool goes_by_time(std::span<const std::uint32_t> rows) const;
    Recorded recorded(std::uint32_t position) const;
    void add_row(const TraceRow& row, const Recorded& recorded);

    const Plan& plan_;
    const Trace& trace_;
    PlannedRows planned_;
    std::unordered_map<std::uint32_t, std::size_t> stream_of_;  ///< [session] of the tree
    std::vector<std::vector<Recorded>> streams_;                ///< what has begun so far
    std::vector<Recorded> frontier_;                            ///< scratch: of one row
    std::vector<Dependency> barriers_;
    BarrierFigures figures_;
};

Recorded Barriers::recorded(std::uint32_t position) const {
    const TraceRow& row = trace_.rows[plan_.rows[position].row];
    return {row.index, row.at_ns, later(row.at_ns, trace_.answer_ns_of(row))};
}

/// Whatever a row of it waits for comes before it in the plan.
bool Barriers::goes_by_time(std::span<const std::uint32_t> rows) const {
    return std::all_of(rows.begin(), rows.end(), [this](std::uint32_t position) {
        const auto waits = trace_.dependencies_of(trace_.rows[plan_.rows[position].row]);
        return std::all_of(waits.begin(), waits.end(), [&](const Dependency& one) {
            return planned_.find(one.on).value_or(0) < position || !planned_.contains(one.on);
        });
    });
}

/// What it may wait for, of each stream; then those that no other of them, and nothing that the row
/// waits for anyway, has waited for.
void Barriers::add_row(const TraceRow& row, const Recorded& own) {
    const std::size_t own_stream = stream_of_.at(row.session);
    frontier_.clear();
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
        const std::vector<Recorded>& begun = streams_[stream];
        const auto latest =
            std::find_if(begun.rbegin(), begun.rend(),
                         [&own](const Recorded& before) { return had_ended(before, own); });
        if (stream != own_stream && latest != begun.rend()) {
            frontier_.push_back(*latest);
        }
    }
    std::vector<Recorded> behind = frontier_;
    for (const Dependency& one : trace_.dependencies_of(row)) {
        if (const std::optional<std::uint32_t> parent = planned_.find(one.on)) {
            behind.push_back(recorded(*parent));
        }
    }
    const std::uint64_t waits_before = figures_.waits;
    for (const Recorded& one : frontier_) {
        const bool is_implied =
            std::any_of(behind.begin(), behind.end(), [&one](const Recorded& other) {
                return other.row == one.row ? false : had_ended(one, other);
            });
        const auto waits = trace_.dependencies_of(row);
        const bool is_parent =
            std::any_of(waits.begin(), waits.end(), [&one](const Dependency& wait) {
                return wait.on == one.row && wait.trigger == Trigger::completion;
            });
        if (!is_implied && !is_parent) {
            barriers_.push_back({row.index, one.row, Trigger::over, 0});
            ++figures_.waits;
        }
    }
    figures_.rows += figures_.waits > waits_before ? 1 : 0;
}

void Barriers::add_tree(std::span<const std::uint32_t> rows) {
    stream_of_.clear();
    streams_.clear();
    for (const std::uint32_t position : rows) {
        const TraceRow& row = trace_.rows[plan_.rows[position].row];
        if (stream_of_.emplace(row.session, streams_.size()).second) {
            streams_.emplace_back();
        }
    }
    if (streams_.size() < 2) {
        return;
    }
    if (!goes_by_time(rows)) {
        ++figures_.trees_out_of_order;
        return;
    }
    for (const std::uint32_t position : rows) {
        const TraceRow& row = trace_.rows[plan_.rows[position].row];
        const Recorded own = recorded(position);
        add_row(row, own);
        streams_[stream_of_.at(row.session)].push_back(own);
    }
}

}  // namespace

BarredTrace add_barriers(const Plan& plan, Trace trace) {
    const RowTrees trees(trace, plan);
    Barriers barriers(plan, trace);
    for (std::uint32_t tree = 0; tree < trees.count(); ++tree) {
        barriers.add_tree(trees.rows_of(tree));
    }
    const std::vector<Dependency> added = barriers.take();
    trace.dependencies.insert(trace.dependencies.end(), added.begin(), added.end());
    std::stable_sort(trace.dependencies.begin(), trace.dependencies.end(),
                     [](const Dependency& a, const Dependency& b) { return a.row < b.row; });
    return {std::move(trace), barriers.figures()};
}

}  // namespace driftless
