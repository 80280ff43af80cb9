// Kernel transmit stamps of a lane: armed with the connection, matched to the exchange by their
// byte, asked for before a row ends, cancelled with the connection.

#include <algorithm>

#include "engine/replay/kernel_stamp.hpp"
#include "engine/replay/lanes.hpp"

namespace driftless {

// Right after the connect: keys count the bytes from here.
void LanePool::arm_stamps(Lane& lane) {
    lane.has_stamps = loop_.driver().switch_on_stamps(lane.socket);
    lane.bytes_accepted = 0;
    counts_.lanes_without_stamps += lane.has_stamps.transmit ? 0 : 1;
    if (lane.has_stamps.transmit) {
        lane.stamps.spec.kind = OpKind::stamps;
        lane.stamps.spec.socket = lane.socket;
        loop_.driver().submit(lane.stamps);
    }
}

void LanePool::disarm_stamps(Lane& lane) {
    if (lane.stamps.in_flight()) {
        lane.stamps_cancel.spec.kind = OpKind::cancel;
        lane.stamps_cancel.spec.target = &lane.stamps;
        loop_.driver().submit(lane.stamps_cancel);
    }
}

bool LanePool::collect_stamps() {
    return loop_.driver().collect_stamps(stamps_max) > 0;
}

void LanePool::note_suspension(Duration length) {
    for (Lane* lane : lanes_) {
        if (lane->state == LaneState::busy) {
            lane->exchange.heard = true;
            lane->exchange.waited = std::max(lane->exchange.waited, length);
        }
    }
}

// The row is about to end: its stamp is taken now, or never. Bounded by the stamps that are there.
void LanePool::take_own_stamp(Lane& lane) {
    ExchangeState& exchange = lane.exchange;
    if (!lane.has_stamps.transmit || exchange.accepted == 0) {
        return;
    }
    while (!exchange.wire_known && lane.stamps.in_flight() &&
           loop_.driver().collect_stamps(stamps_max, &lane.stamps) > 0) {
    }
    counts_.wire_missing += exchange.wire_known ? 0 : 1;
}

void LanePool::on_stamp(Op& op, const Completion& done) {
    Lane& lane = *static_cast<Lane*>(op.owner);
    if (done.more) {
        lane.pool->take_stamp(lane, done);
    } else {
        lane.progress.notify();
    }
}

// The first stamp of a request is that of the packet that holds its head; those of later slices
// say nothing that a record keeps.
void LanePool::take_stamp(Lane& lane, const Completion& done) {
    ExchangeState& exchange = lane.exchange;
    if (lane.state != LaneState::busy ||
        !ends_in_request(done.key, exchange.first_key, exchange.request_bytes)) {
        const bool own = lane.tls != nullptr && done.key < lane.tls->own_bytes;
        counts_.stamps_stray += own ? 0 : 1;
        return;
    }
    if (exchange.wire_known) {
        return;
    }
    // A head has left before it is answered: a later stamp is that of a later packet, as where the
    // head's own was lost and the server answers before it has read all.
    const Instant not_after = exchange.any_byte ? exchange.first_byte : done.stamp;
    const std::int64_t wire_ns = believable_stamp_ns(done.kernel_ns, exchange.fired, not_after);
    if (wire_ns == 0) {
        counts_.stamps_refused += 1;
        return;
    }
    exchange.wire_known = true;
    const std::int64_t delay_ns = wire_ns - exchange.fired.ns;
    if (exchange.stale_retries == 0) {  // else it was fired twice, and `fired` is the first time
        counts_.wire_stamps += 1;
        counts_.wire_delay_sum_ns += delay_ns;
        counts_.wire_delay_max_ns = std::max(counts_.wire_delay_max_ns, delay_ns);
    }
    Event event;
    event.kind = EventKind::wire;
    event.request = exchange.request.due.request;
    event.lane = lane.number;
    event.stamp_ns = done.stamp.ns;
    event.wire_ns = wire_ns;
    (void)ring_.push(event);
}

}  // namespace driftless
