#include "engine/stats/tainted.hpp"

#include <algorithm>
#include <string_view>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

bool has(const Record& record, std::string_view reason) {
    return std::find(record.tainted.begin(), record.tainted.end(), reason) != record.tainted.end();
}

Suspect suspect_of(LateCause cause) {
    switch (cause) {
        case LateCause::wake:
            return Suspect::host;
        case LateCause::prepare:
        case LateCause::writer:
            return Suspect::ours;
        case LateCause::lane:
            return Suspect::lane;
        default:
            return Suspect::work;
    }
}

/// From the fire to the wire. Records before schema 7 have no bound: without a stamp the call that
/// fired the row is all that they tell.
std::int64_t wire_delay_ns(const Record& record) {
    if (record.wire_delay_bound_ns) {
        return *record.wire_delay_bound_ns;
    }
    return record.wire_ns.has_value() && record.fired_ns.has_value()
               ? *record.wire_ns - *record.fired_ns
               : record.submit_ns.value_or(0);
}

/// The user wanted it to wait for so long.
std::int64_t wanted_delay_ns(const Record& record) {
    return is_wish(record.late_cause) ? record.held_ns : 0;
}

/// The latest that is known of a row.
std::int64_t end_of(const Record& record) {
    return record.ended_ns.value_or(record.done_ns.value_or(
        record.last_token_ns.value_or(record.fired_ns.value_or(record.due_ns))));
}

}  // namespace

TaintedRow tainted_row_of(const Record& record) {
    CHECK(!record.tainted.empty());
    const std::int64_t fired_ns = record.fired_ns.value_or(record.due_ns);
    for (const std::string_view ours :
         {taint_payload_dropped, taint_entries_dropped, taint_limit, taint_client_failed}) {
        if (has(record, ours)) {
            return {record.due_ns, end_of(record), 0, Suspect::ours};
        }
    }
    if (has(record, taint_late)) {
        const std::int64_t wanted_ns = wanted_delay_ns(record);
        return {record.due_ns + wanted_ns, fired_ns, record.drift_ns.value_or(0) - wanted_ns,
                suspect_of(record.late_cause)};
    }
    if (has(record, taint_read_late)) {
        return {fired_ns, end_of(record), record.receive_delay_ns.value_or(0), Suspect::reading};
    }
    if (has(record, taint_retransmitted) || has(record, taint_retried) ||
        has(record, taint_answered_early)) {
        return {fired_ns, end_of(record), 0, Suspect::network};
    }
    if (has(record, taint_wire_late)) {
        const std::int64_t delay_ns = wire_delay_ns(record);
        return {fired_ns, record.wire_ns.value_or(fired_ns + delay_ns), delay_ns, Suspect::wire};
    }
    return {fired_ns, record.sent_ns.value_or(end_of(record)), record.request_delay_ns.value_or(0),
            Suspect::work};
}

void TaintFigures::add(const Record& record) {
    const bool left = record.fired_ns.has_value();
    sent += left ? 1 : 0;
    const bool excluded = !record.tainted.empty() || record.outcome == Outcome::interrupted;
    unsent += excluded && !left ? 1 : 0;
    if (!record.tainted.empty()) {
        rows.push_back(tainted_row_of(record));
        CHECK(rows.size() <= sent + unsent);
        return;
    }
    if (!left) {
        return;
    }
    UntaintedFigures& u = untainted;
    u.drift_max_ns =
        std::max(u.drift_max_ns, record.drift_ns.value_or(0) - wanted_delay_ns(record));
    if (record.stale_retries == 0) {  // else the wire saw the retry
        u.wire_delay_max_ns = std::max(u.wire_delay_max_ns, wire_delay_ns(record));
    }
    u.receive_delay_max_ns = std::max(u.receive_delay_max_ns, record.receive_delay_ns.value_or(0));
}

double TaintFigures::share(std::uint64_t interrupted, std::uint64_t unrecorded) const {
    const std::uint64_t measured = sent + unsent + unrecorded;
    const std::uint64_t excluded = rows.size() + interrupted + unrecorded;
    return measured == 0 ? 0 : static_cast<double>(excluded) / static_cast<double>(measured);
}

}  // namespace driftless
