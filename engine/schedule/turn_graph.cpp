#include "engine/schedule/turn_graph.hpp"

#include <algorithm>
#include <optional>

#include "engine/plan/planned_rows.hpp"
#include "proto/core/check.hpp"

namespace driftless {

/// Counts those that wait for each, then files them behind each other.
TurnGraph::TurnGraph(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
                     const LiveTurns* live)
    : copies_(copies),
      parents_(plan.rows.size()),
      timed_(plan.rows.size()),
      begin_(plan.rows.size() + 1) {
    CHECK(copies > 0);
    const PlannedRows planned(trace, plan);
    const auto each = [&](auto use) {
        for (const Dependency& one : trace.dependencies) {
            // Or none of them would end. Barriers go by time, as all of their tree does.
            CHECK(one.on < one.row || one.trigger == Trigger::over);
            const std::optional<std::uint32_t> child = planned.find(one.row);
            const std::optional<std::uint32_t> parent = planned.find(one.on);
            if (child && parent) {
                use(*parent, Edge{due_of(one.delay_ns, speed), *child, one.trigger});
            }
        }
        for (std::uint32_t child = 0; live != nullptr && child < plan.rows.size(); ++child) {
            if (live->goes_on(plan.rows[child].row)) {
                CHECK(live->of(plan.rows[child].row).back <= child);
                use(child - live->of(plan.rows[child].row).back,
                    Edge{0, child, Trigger::completion, true});
            }
        }
    };
    std::vector<std::uint32_t> children(plan.rows.size());
    each([&](std::uint32_t parent, const Edge& edge) {
        ++begin_[parent + 1];
        ++parents_[edge.child];
        timed_[edge.child] += edge.trigger == Trigger::over ? 0 : 1;
        children[parent] += edge.words ? 0 : 1;
        widest_ = std::max(widest_, children[parent]);
    });
    for (std::size_t i = 1; i < begin_.size(); ++i) {
        begin_[i] += begin_[i - 1];
    }
    edges_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    each([&](std::uint32_t parent, const Edge& edge) { edges_[next[parent]++] = edge; });
}

}  // namespace driftless
