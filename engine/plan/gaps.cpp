#include "engine/plan/gaps.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/planned_rows.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

/// Where rows are found by their index.
struct RowsByIndex {
    explicit RowsByIndex(const Trace& trace) : trace_(trace) {
        for (std::uint32_t position = 0; position < trace.rows.size(); ++position) {
            const std::uint32_t index = trace.rows[position].index;
            positions_.resize(std::max<std::size_t>(positions_.size(), std::size_t{index} + 1));
            positions_[index] = position;
        }
    }
    const TraceRow& operator[](std::uint32_t index) const {
        CHECK(index < positions_.size());
        const TraceRow& row = trace_.rows[positions_[index]];
        CHECK(row.index == index);
        return row;
    }

  private:
    const Trace& trace_;
    std::vector<std::uint32_t> positions_;  ///< [row index] in Trace::rows
};

/// One pass over the dependencies of a trace.
class Retiming {
  public:
    Retiming(const GapRules& rules, const Plan& plan, const Trace& trace)
        : rules_(rules), rows_(trace), planned_(trace, plan) {}

    /// Those of one row, as recorded.
    void add(std::span<const Dependency> of_row);

    std::vector<Dependency> take() { return std::move(dependencies_); }
    const GapFigures& figures() const { return figures_; }

  private:
    bool is_of_own_session(const Dependency& one) const;
    void add_by_starts(const Dependency& one, bool joins);
    std::int64_t cap(std::int64_t gap_ns) const {
        return rules_.cap_ns ? std::min(gap_ns, *rules_.cap_ns) : gap_ns;
    }
    void count(const Dependency& one, std::int64_t derived_ns, std::int64_t kept_ns);

    const GapRules& rules_;
    RowsByIndex rows_;
    PlannedRows planned_;
    std::vector<Dependency> dependencies_;
    GapFigures figures_;
};

bool Retiming::is_of_own_session(const Dependency& one) const {
    const std::uint32_t session = rows_[one.row].session;
    return session != no_session && session == rows_[one.on].session;
}

void Retiming::count(const Dependency& one, std::int64_t derived_ns, std::int64_t kept_ns) {
    if (derived_ns > 0 && planned_.contains(one.row) && planned_.contains(one.on)) {
        ++figures_.gaps;
        figures_.capped += rules_.rule != GapRule::none && kept_ns < derived_ns ? 1 : 0;
        figures_.derived_ns = later(figures_.derived_ns, derived_ns);
        figures_.kept_ns = later(figures_.kept_ns, kept_ns);
    }
}

void Retiming::add_by_starts(const Dependency& one, bool joins) {
    const bool by_end = one.trigger == Trigger::completion;
    if (by_end) {
        dependencies_.push_back({one.row, one.on, Trigger::completion, 0});
    }
    if (by_end && joins) {
        return;
    }
    const std::int64_t apart_ns =
        by_end ? std::max(rows_[one.row].at_ns - rows_[one.on].at_ns, std::int64_t{0})
               : one.delay_ns;
    const std::int64_t kept_ns = cap(apart_ns);
    count(one, apart_ns, kept_ns);
    if (!by_end || kept_ns > 0) {
        dependencies_.push_back({one.row, one.on, Trigger::dispatch, kept_ns});
    }
}

void Retiming::add(std::span<const Dependency> of_row) {
    const bool has_own = std::any_of(of_row.begin(), of_row.end(), [this](const Dependency& one) {
        return is_of_own_session(one);
    });
    for (const Dependency& one : of_row) {
        if (rules_.rule == GapRule::start_to_start) {
            add_by_starts(one, has_own && !is_of_own_session(one));
            continue;
        }
        const std::int64_t kept_ns = rules_.rule == GapRule::none ? 0 : cap(one.delay_ns);
        count(one, one.delay_ns, kept_ns);
        dependencies_.push_back({one.row, one.on, one.trigger, kept_ns});
    }
}

}  // namespace

RetimedTrace retime(const GapRules& rules, const Plan& plan, Trace trace) {
    Retiming retiming(rules, plan, trace);
    const std::span<const Dependency> all = trace.dependencies;
    for (std::size_t begin = 0; begin < all.size();) {
        std::size_t end = begin;
        while (end < all.size() && all[end].row == all[begin].row) {
            ++end;
        }
        retiming.add(all.subspan(begin, end - begin));
        begin = end;
    }
    trace.dependencies = retiming.take();
    return {std::move(trace), retiming.figures()};
}

}  // namespace driftless
