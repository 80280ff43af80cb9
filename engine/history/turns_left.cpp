#include "engine/history/turns_left.hpp"

#include <algorithm>

#include "engine/history/remaining_rows.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

TurnsLeft::TurnsLeft(const InterruptedRun& run) : run_(run) {
    if (run.closed) {
        planned_.emplace(run.trace, run.plan);
        fates_.resize(run.plan.rows.size());
        earlier_ = run.past.rows();
    }
}

Expectation TurnsLeft::expect(std::uint32_t position) const {
    const Planned& planned = run_.plan.rows[position];
    Expectation expected;
    bool waits = false;
    if (planned_) {
        for (const Dependency& one : run_.trace.dependencies_of(run_.trace.rows[planned.row])) {
            if (const std::optional<std::uint32_t> parent = planned_->find(one.on)) {
                waits = true;
                add(one, *parent, expected);
            }
        }
    }
    expected.due_ns = waits ? expected.due_ns : planned.due_ns;
    return expected;
}

void TurnsLeft::add(const Dependency& one, std::uint32_t parent, Expectation& expected) const {
    const Fate& fate = fates_[parent];
    const auto known = earlier_.find(one.on);
    const std::optional<std::int64_t> at_ns = known == earlier_.end() ? std::nullopt
                                              : one.trigger == Trigger::completion
                                                  ? known->second.answered_ns
                                                  : known->second.fired_ns;
    const std::int64_t delay_ns = due_of(one.delay_ns, run_.speed);
    if (at_ns || fate.kind == Fate::sent || fate.kind == Fate::given_up) {
        expected.due_ns =
            std::max(expected.due_ns, later(at_ns.value_or(fate.earliest_ns), delay_ns));
    } else {
        expected.possible = false;
    }
    if (!at_ns && fate.kind != Fate::sent) {
        expected.failed = fate.kind == Fate::dropped ? fate.failed : one.on;
    }
}

void TurnsLeft::settle(std::uint32_t position, const Fate& fate) {
    if (!planned_) {
        return;
    }
    fates_[position] = fate;
    const std::uint32_t row = run_.trace.rows[run_.plan.rows[position].row].index;
    const auto left = run_.past.open().find(row);
    if (left == run_.past.open().end()) {
        return;
    }
    fates_[position].earliest_ns = std::max(fate.earliest_ns, left->second.fired_ns);
    if (fate.kind == Fate::given_up) {
        earlier_[row] = {left->second.fired_ns, std::nullopt};
    }
}

}  // namespace driftless
