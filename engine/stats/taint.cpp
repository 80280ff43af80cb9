#include "engine/stats/taint.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

std::int64_t drift_limit_ns(const TaintLimits& limits, std::uint32_t rank) {
    if (limits.drift_ns <= 0) {
        return 0;
    }
    const std::int64_t allowed = limits.drift_ns + limits.rank_ns * rank;
    return limits.drift_most_ns > 0 ? std::min(allowed, limits.drift_most_ns) : allowed;
}

namespace {

// Without a kernel stamp: until we saw that the kernel had taken bytes; if that was never seen,
// until the row ended. The row has left.
std::int64_t wire_delay_of(const Record& record, const RowLosses& losses) {
    CHECK(record.fired_ns.has_value());
    if (record.wire_ns) {
        return *record.wire_ns - *record.fired_ns;
    }
    const std::int64_t seen_ns =
        losses.accept_ns >= 0 ? losses.accept_ns
                              : record.ended_ns.value_or(*record.fired_ns) - *record.fired_ns;
    return std::max(seen_ns, record.submit_ns.value_or(0));
}

void note_delays(Record& record, const RowLosses& losses) {
    if (record.fired_ns) {
        record.wire_delay_bound_ns = wire_delay_of(record, losses);
        record.request_delay_ns = losses.request_waited_ns;
    }
}

}  // namespace

TaintLimits taint_limits(const CertifyWithin& within) {
    TaintLimits limits;
    limits.drift_ns = within.sent_ns;
    limits.drift_most_ns = within.sent_ns;
    limits.receive_delay_ns = within.read_ns;
    limits.wire_ns = within.sent_ns;
    return limits;
}

void add_taints(Record& record, const RowLosses& losses, const TaintLimits& limits,
                std::uint32_t rank) {
    CHECK(record.tainted.empty());
    note_delays(record, losses);
    if (losses.payload_dropped) {
        record.tainted.emplace_back(taint_payload_dropped);
    }
    if (losses.entries_dropped) {
        record.tainted.emplace_back(taint_entries_dropped);
    }
    const std::int64_t drift_max = drift_limit_ns(limits, rank);
    const std::int64_t wanted_ns = is_wish(record.late_cause) ? record.held_ns : 0;
    if (record.late_cause == LateCause::limit) {
        record.tainted.emplace_back(taint_limit);
    } else if (drift_max > 0 && record.drift_ns.value_or(0) - wanted_ns > drift_max) {
        record.tainted.emplace_back(taint_late);
    }
    if (record.outcome == Outcome::client_failed) {
        record.tainted.emplace_back(taint_client_failed);
    }
    if (losses.request_lost) {
        record.tainted.emplace_back(taint_retransmitted);
    }
    if (losses.answered_early && record.status == 200) {
        record.tainted.emplace_back(taint_answered_early);
    }
    if (limits.receive_delay_ns > 0 &&
        record.receive_delay_ns.value_or(0) > limits.receive_delay_ns) {
        record.tainted.emplace_back(taint_read_late);
    }
    if (limits.receive_delay_ns > 0 && losses.request_waited_ns > limits.receive_delay_ns) {
        record.tainted.emplace_back(taint_sent_late);
    }
    // A stale connection may have taken nothing: the wire then saw the retry first.
    if (limits.wire_ns > 0 && record.stale_retries == 0 &&
        record.wire_delay_bound_ns.value_or(0) > limits.wire_ns) {
        record.tainted.emplace_back(taint_wire_late);
    }
    if (record.stale_retries > 0) {
        record.tainted.emplace_back(taint_retried);
    }
}

}  // namespace driftless
