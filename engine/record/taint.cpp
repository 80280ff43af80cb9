#include "engine/record/taint.hpp"

#include <algorithm>

namespace driftless {

std::uint32_t rank_in_instant(const Plan& plan, std::uint32_t position) {
    const auto row = plan.rows.begin() + position;
    const auto first = std::lower_bound(
        plan.rows.begin(), row, row->due_ns,
        [](const Planned& planned, std::int64_t due_ns) { return planned.due_ns < due_ns; });
    return static_cast<std::uint32_t>(row - first);
}

void add_taints(Record& record, const EndInfo& end, bool lost_payload, const TaintLimits& limits,
                std::uint32_t rank) {
    if (lost_payload) {
        record.tainted.emplace_back(taint_payload_dropped);
    }
    if (end.entries_dropped > 0) {
        record.tainted.emplace_back(taint_entries_dropped);
    }
    const std::int64_t drift_max = limits.drift_ns + limits.rank_ns * rank;
    if (limits.drift_ns > 0 && record.late_cause != LateCause::inflight &&
        record.drift_ns.value_or(0) > drift_max) {
        record.tainted.emplace_back(taint_late);
    }
    if (limits.receive_delay_ns > 0 &&
        record.receive_delay_ns.value_or(0) > limits.receive_delay_ns) {
        record.tainted.emplace_back(taint_read_late);
    }
    // A stale connection may have taken nothing: the wire then saw the retry first.
    if (limits.wire_ns > 0 && record.wire_ns.has_value() && record.fired_ns.has_value() &&
        record.stale_retries == 0 &&
        *record.wire_ns - *record.fired_ns - record.submit_ns.value_or(0) > limits.wire_ns) {
        record.tainted.emplace_back(taint_wire_late);
    }
}

}  // namespace driftless
