#include "engine/replay/wire_stamps.hpp"

#include <algorithm>

#include "engine/replay/exchanges.hpp"
#include "engine/replay/kernel_stamp.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void WireStamps::arm(Lane& lane) {
    CHECK(!lane.stamps.in_flight());
    lane.has_stamps = parts_.loop.driver().switch_on_stamps(lane.socket);
    lane.bytes_accepted = 0;
    parts_.counts.lanes_without_stamps += lane.has_stamps.transmit ? 0 : 1;
    if (lane.has_stamps.transmit) {
        lane.stamps.spec.kind = OpKind::stamps;
        lane.stamps.spec.socket = lane.socket;
        parts_.loop.driver().submit(lane.stamps);
    }
}

void WireStamps::disarm(Lane& lane) {
    CHECK(lane.state != LaneState::busy);
    if (lane.stamps.in_flight()) {
        lane.stamps_cancel.spec.kind = OpKind::cancel;
        lane.stamps_cancel.spec.target = &lane.stamps;
        parts_.loop.driver().submit(lane.stamps_cancel);
    }
}

bool WireStamps::collect() {
    return parts_.loop.driver().collect_stamps(stamps_max) > 0;
}

// Bounded by the stamps that are there.
void WireStamps::take_own(Lane& lane) {
    CHECK(lane.state == LaneState::busy);
    ExchangeState& exchange = lane.exchange;
    if (!lane.has_stamps.transmit || exchange.accepted == 0) {
        return;
    }
    while (!exchange.wire_known && lane.stamps.in_flight() &&
           parts_.loop.driver().collect_stamps(stamps_max, &lane.stamps) > 0) {
    }
    parts_.counts.wire_missing += exchange.wire_known ? 0 : 1;
}

// The first stamp of a request is that of the packet that holds its head; those of later slices
// say nothing that a record keeps.
void WireStamps::take(Lane& lane, const Completion& done) {
    ExchangeState& exchange = lane.exchange;
    LaneCounts& counts = parts_.counts;
    if (lane.state != LaneState::busy ||
        !ends_in_request(done.key, exchange.first_key, exchange.bytes.size())) {
        const bool own = lane.tls != nullptr && done.key < lane.tls->own_bytes;
        counts.stamps_stray += own ? 0 : 1;
        return;
    }
    if (exchange.wire_known) {
        return;
    }
    if (ends_in_request(done.key, exchange.first_key,
                        std::min(exchange.bytes.size(), Exchanges::first_bytes_max))) {
        exchange.left_ns = done.kernel_ns;
    }
    // A head has left before it is answered: a later stamp is that of a later packet, as where the
    // head's own was lost and the server answers before it has read all.
    const Instant not_after = exchange.any_byte ? exchange.first_byte : done.stamp;
    const std::int64_t wire_ns = believable_stamp_ns(done.kernel_ns, exchange.fired, not_after);
    if (wire_ns == 0) {
        counts.stamps_refused += 1;
        return;
    }
    CHECK(wire_ns >= exchange.fired.ns);
    exchange.wire_known = true;
    const std::int64_t delay_ns = wire_ns - exchange.fired.ns;
    if (!exchange.is_retry) {
        counts.wire_stamps += 1;
        counts.wire_delay_sum_ns += delay_ns;
        counts.wire_delay_max_ns = std::max(counts.wire_delay_max_ns, delay_ns);
    }
    Event event;
    event.kind = EventKind::wire;
    event.request = exchange.request;
    event.lane = lane.number;
    event.stamp_ns = done.stamp.ns;
    event.wire_ns = wire_ns;
    (void)parts_.ring.push(event);
}

}  // namespace driftless
