#include "engine/record/turn_ends.hpp"

#include <algorithm>

#include "engine/schedule/due.hpp"
#include "proto/core/check.hpp"

namespace driftless {

TurnEnds::TurnEnds(const Trace& trace, const Plan& plan, const RowEnds* earlier, Side side)
    : trace_(trace) {
    if (trace.rows.empty() || (trace.sessions.empty() && trace.dependencies.empty())) {
        return;  // no row comes after another
    }
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    ended_ns_.assign(std::size_t{index_max} + 1, unknown);
    for (const Planned& planned : plan.rows) {
        std::int64_t& ended_ns = ended_ns_[trace.rows[planned.row].index];
        ended_ns = planned.side == side ? pending : ended_ns;
    }
    if (earlier != nullptr) {
        for (const auto& [number, ended] : *earlier) {
            const auto index = static_cast<std::uint32_t>(number);
            if (index <= index_max && ended && number == sending_number(index, 0, side)) {
                ended_ns_[index] = long_ago;
            }
        }
    }
    if (!trace.sessions.empty()) {
        link_sessions(trace);
    }
}

void TurnEnds::link_sessions(const Trace& trace) {
    before_.assign(ended_ns_.size(), no_row);
    std::vector<std::uint32_t> last(trace.sessions.size(), no_row);
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            CHECK(row.session < last.size());
            before_[row.index] = last[row.session];
            last[row.session] = row.index;
        }
    }
}

std::int64_t TurnEnds::end_of(std::uint32_t index) const {
    return index < ended_ns_.size() ? ended_ns_[index] : unknown;
}

std::optional<bool> TurnEnds::overtaken(const TraceRow& row, std::int64_t fired_ns) const {
    std::int64_t first_ns = pending;  // of the ends; `unknown` comes before all
    std::int64_t last_ns = unknown;
    const auto add = [&](std::uint32_t index) {
        first_ns = std::min(first_ns, end_of(index));
        last_ns = std::max(last_ns, end_of(index));
    };
    bool waits = false;
    for (const Dependency& one : trace_.dependencies_of(row)) {
        waits = waits || one.trigger != Trigger::over;
        if (one.trigger == Trigger::completion) {
            add(one.on);
        }
    }
    if (!waits && row.index < before_.size() && before_[row.index] != no_row) {
        add(before_[row.index]);
    }
    if (fired_ns < last_ns) {
        return true;
    }
    return last_ns == unknown || first_ns == unknown ? std::nullopt : std::optional(false);
}

void TurnEnds::end(const TraceRow& row, OptionalNs ended_ns) {
    if (!ended_ns_.empty()) {
        CHECK(row.index < ended_ns_.size());
        ended_ns_[row.index] = ended_ns.value_or(unknown);
    }
}

}  // namespace driftless
