#include "engine/replay/connecting.hpp"

#include <algorithm>

#include "engine/io/tls.hpp"
#include "engine/replay/exchanges.hpp"
#include "engine/replay/lane.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// A SYN that was lost is sent again after a second (timing-and-io.md, D).
constexpr Duration connect_slow = milliseconds(900);

bool reads_nothing(LaneTls& tls) {
    const bool plain = !tls.stream.read(tls.plain, record_bytes_max).empty();
    return !plain && tls.stream.state() == TlsStream::State::open && !tls.stream.has_output();
}

}  // namespace

Task<bool> Connecting::establish(Lane& lane) {
    CHECK(lane.state == LaneState::connecting && !lane.socket.open());
    LaneTarget& target = parts_.targets[lane.target];
    const Result<Socket> socket = parts_.loop.driver().open_socket(target.address);
    if (!socket) {
        connect_failed(lane, socket.error().sys_errno);
        co_return false;
    }
    lane.socket = socket.value();
    const Instant began = parts_.loop.driver().now();
    submit_connect(lane);
    while (lane.connect.in_flight() || lane.cancel.in_flight()) {
        co_await lane.progress.wait();
        if (lane.timed_out || lane.broken) {
            cancel_once(parts_.loop.driver(), lane.cancel, lane.connect);
        }
    }
    bool stands = lane.connect_result >= 0 && !lane.broken;
    if (stands) {
        parts_.counts.slow_connects += lane.connected - began > connect_slow ? 1 : 0;
        stamps_.arm(lane);
        submit_receive(lane);
    }
    if (stands && lane.tls != nullptr) {
        stands = co_await shake_hands(lane);
    }
    parts_.loop.timers().clear(lane.timer);
    lane.resent.reset();
    if (!stands) {
        connect_failed(lane, -lane.connect_result);
        co_return false;
    }
    begin_resends(lane);
    CHECK(target.connecting > 0);
    --target.connecting;
    ++target.open;
    co_return true;
}

void Connecting::submit_receive(Lane& lane) {
    CHECK(!lane.receive.in_flight());
    lane.receive.spec.kind = OpKind::receive;
    lane.receive.spec.socket = lane.socket;
    lane.receive.spec.kernel_stamps = lane.has_stamps.receive;
    parts_.loop.driver().submit(lane.receive);
}

void Connecting::submit_connect(Lane& lane) {
    CHECK(!lane.connect.in_flight());
    lane.connect.spec.kind = OpKind::connect;
    lane.connect.spec.socket = lane.socket;
    lane.connect.spec.address = &parts_.targets[lane.target].address;
    parts_.loop.driver().submit(lane.connect);
    parts_.loop.timers().set(lane.timer,
                             parts_.loop.driver().now() + parts_.settings.timeouts.connect);
}

void Connecting::connect_failed(Lane& lane, std::int32_t sys_errno) {
    CHECK(parts_.targets[lane.target].connecting > 0);
    --parts_.targets[lane.target].connecting;
    lane.broken = true;
    parts_.counts.connect_failures += 1;
    note_failure(lane, sys_errno);
}

void Connecting::note_failure(const Lane& lane, std::int32_t sys_errno) {
    LaneTarget& target = parts_.targets[lane.target];
    target.failures += 1;
    const TlsFailure failure = lane.tls != nullptr ? lane.tls->stream.failure() : 0;
    target.failure_is_tls = failure != 0;
    target.failure_errno = failure != 0 ? static_cast<std::int32_t>(failure) : sys_errno;
    target.failure_timed_out = lane.timed_out;
    target.quiet_until = parts_.loop.driver().now() + failure_quiet;
}

// What the kernel sends again is counted from here: SYNs and handshakes are of no request.
void Connecting::begin_resends(Lane& lane) {
    const std::optional<ResendCounts> counted = parts_.loop.driver().resent(lane.socket);
    if (counted) {
        lane.resent.emplace(*counted);
    }
}

Task<void> Connecting::disconnect(Lane& lane) {
    CHECK(lane.state == LaneState::closing);
    if (lane.socket.open()) {
        say_goodbye(lane);
        parts_.loop.driver().shutdown(lane.socket);
    }
    stamps_.disarm(lane);
    while (lane.receive.in_flight() || lane.send.in_flight() || lane.cancel.in_flight() ||
           lane.stamps.in_flight() || lane.stamps_cancel.in_flight()) {
        cancel_once(parts_.loop.driver(), lane.cancel,
                    lane.receive.in_flight() ? lane.receive : lane.send);
        co_await lane.progress.wait();
    }
    if (lane.socket.open()) {
        parts_.loop.driver().close(lane.socket);
        lane.socket = Socket{};
    }
    lane.tls.reset();
}

void Connecting::connected(Lane& lane, const Completion& done) {
    CHECK(lane.state == LaneState::connecting);
    lane.connect_result = done.result;
    lane.connected = done.stamp;
    lane.progress.notify();
}

/// The handshake of a lane whose connection stands. False where it failed, or the lane broke.
/// Suspends between its steps, which `handshake_slice` makes; bounded by `--timeout-connect`.
Task<bool> Connecting::shake_hands(Lane& lane) {
    CHECK(lane.state == LaneState::connecting && lane.tls != nullptr);
    TlsStream& stream = lane.tls->stream;
    stream.connect(*parts_.targets[lane.target].tls);
    queue_step(lane);
    while (!lane.broken && !lane.timed_out && stream.state() == TlsStream::State::handshake) {
        co_await lane.progress.wait();
        send_own(lane);
    }
    // The last flight may still be in the kernel's hands; the first request goes by the same Op.
    while (!lane.broken && !lane.timed_out && stream.state() == TlsStream::State::open &&
           (lane.send.in_flight() || stream.has_output() || !lane.tls->sending.empty())) {
        co_await lane.progress.wait();
        send_own(lane);
    }
    lane.connected = parts_.loop.driver().now();
    lane.tls->own_bytes = lane.bytes_accepted;
    const bool stands = !lane.broken && !lane.timed_out && reads_nothing(*lane.tls);
    co_return stands;
}

void Connecting::queue_step(Lane& lane) {
    if (!lane.tls->in_steps) {
        lane.tls->in_steps = true;
        lane.tls->step_wanted = parts_.loop.driver().now();
        steps_.push_back(lane);
    }
}

// Nothing was asked yet: without TLS a server has nothing to say. Bytes of a handshake are kept;
// arithmetic has to wait for a quiet moment.
void Connecting::received(Lane& lane, const Completion& done) {
    CHECK(lane.state == LaneState::connecting);
    if (lane.tls == nullptr) {
        lane.broken = true;
        return;
    }
    TlsStream& stream = lane.tls->stream;
    if (done.result > 0) {
        stream.take(done.bytes);
        if (stream.state() != TlsStream::State::open) {
            queue_step(lane);
        }
        return;
    }
    lane.connect_result = done.result;
    lane.broken = true;
    if (stream.state() != TlsStream::State::failed) {
        stream.fail_closed();
    }
}

bool Connecting::handshake_slice() {
    Lane* lane = steps_.pop_front();
    if (lane == nullptr) {
        return false;
    }
    CHECK(lane->tls != nullptr && lane->tls->in_steps);
    lane->tls->in_steps = false;
    lane->tls->stream.step();
    give_time(*lane, parts_.loop.driver().now() - lane->tls->step_wanted);
    lane->progress.notify();
    return true;
}

void Connecting::timed_out(Lane& lane) {
    CHECK(lane.state == LaneState::connecting);
    if (!waits_for_step(lane)) {
        lane.timed_out = true;
        lane.progress.notify();
    }
}

void Connecting::was_away(Lane& lane, Duration length) {
    if (lane.tls != nullptr && !waits_for_step(lane)) {  // that one gets all of its wait
        give_time(lane, length);
    }
}

// From its deadline on, passed or not.
void Connecting::give_time(Lane& lane, Duration waited) {
    CHECK(lane.state == LaneState::connecting && waited.ns >= 0);
    if (!lane.timed_out) {
        parts_.loop.timers().set(lane.timer, lane.timer.at() + waited);
    }
}

Instant Connecting::handshake_wanted() const {
    return steps_.empty() ? never : steps_.first->tls->step_wanted;
}

// Sends what TLS itself has to say while no request is on the lane.
void Connecting::send_own(Lane& lane) {
    LaneTls& tls = *lane.tls;
    if (lane.send.in_flight()) {
        return;
    }
    if (tls.sending.empty()) {
        tls.sending = tls.stream.take_output();
    }
    if (tls.sending.empty()) {
        return;
    }
    lane.send.spec.kind = OpKind::send;
    lane.send.spec.socket = lane.socket;
    lane.send.spec.bytes = tls.sending;
    lane.send.spec.stamps = nullptr;
    parts_.loop.driver().submit(lane.send);
}

void Connecting::own_sent(Lane& lane, const Completion& done) {
    CHECK(lane.tls != nullptr && lane.state != LaneState::busy);
    if (done.result <= 0) {
        lane.connect_result = done.result;
        lane.broken = true;
        return;
    }
    lane.bytes_accepted += static_cast<std::uint32_t>(done.result);
    lane.tls->sending.erase(0, static_cast<std::size_t>(done.result));
}

// Best effort, with what the socket takes at once: an alert, or that we are done. Behind records
// that were made and never sent, nothing could be read.
void Connecting::say_goodbye(Lane& lane) {
    if (lane.tls == nullptr) {
        return;
    }
    LaneTls& tls = *lane.tls;
    if (tls.in_steps) {
        steps_.remove(lane);
        tls.in_steps = false;
    }
    if (lane.send.in_flight() || lane.unsent() > 0 || tls.spoiled) {
        return;
    }
    tls.stream.say_goodbye();
    send_own(lane);
    (void)parts_.loop.driver().flush();
}

bool Connecting::only_tls(Lane& lane, const Completion& done) {
    if (lane.tls == nullptr || done.result <= 0) {
        return false;
    }
    lane.tls->stream.feed(done.bytes);
    return reads_nothing(*lane.tls);
}

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
