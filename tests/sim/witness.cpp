#include "tests/sim/witness.hpp"

#include <algorithm>

#include "engine/replay/lane.hpp"

namespace driftless::sim {

Witness::Witness(const Trace& trace, const Plan& plan, SimResult& result)
    : trace_(trace), plan_(plan), result_(result) {}

void Witness::watch(SimDriver& driver) {
    driver.tell_sends([this](const Op& op, Instant at) { note_send(op, at); });
    driver.tell_reads([this](const Op& op, const ReadTimes& times) { note_read(op, times); });
    driver.tell_sleeps([this](Instant at, Duration length) { note_sleep(at, length); });
}

std::uint32_t Witness::row_of(std::uint32_t planned) const {
    return trace_.rows[plan_.rows[planned % plan_.rows.size()].row].index;
}

// Of a send of a row. That of a second try leaves later than its stamp says.
void Witness::note_send(const Op& op, Instant at) {
    const Lane& lane = *static_cast<const Lane*>(op.owner);
    if (lane.state == LaneState::busy) {
        std::vector<std::int64_t>& parts_ns = result_.parts_ns[row_of(lane.exchange.request)];
        parts_ns.resize(lane.exchange.accepted == 0 ? 0 : parts_ns.size());
        parts_ns.push_back(in_run(at));
    }
}

// Of a read that belongs to a row. What came before its request left is no part of the answer.
void Witness::note_read(const Op& op, const ReadTimes& times) {
    const Lane& lane = *static_cast<const Lane*>(op.owner);
    const bool busy = lane.state == LaneState::busy;
    if (!busy && (lane.state != LaneState::closing || !lane.used)) {
        return;
    }
    const std::uint32_t row = row_of(lane.exchange.request);
    if (!busy || lane.exchange.over) {
        result_.unread_ns.try_emplace(row, in_run(times.first_came));
        return;
    }
    Duration& longest = result_.waited[row];
    const Duration waited = times.read - std::max(times.first_came, lane.exchange.fired);
    const bool first = lane.exchange.bytes_received == 0;  // of this try
    longest = first ? waited : std::max(longest, waited);
    result_.last_reads[row] = {in_run(times.last_came), in_run(times.read)};
}

void Witness::note_sleep(Instant at, Duration length) {
    if (result_.zero_ns != 0) {  // before that no row is open
        result_.sleeps.push_back({in_run(at), length.ns});
    }
}

}  // namespace driftless::sim
