// The life of one lane: connect, carry exchanges, disconnect; and the handlers that wake it.

#include <algorithm>
#include <cerrno>

#include "engine/io/own_lack.hpp"
#include "engine/replay/lanes.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {
// A SYN that was lost is sent again after a second (timing-and-io.md, D).
constexpr Duration connect_slow = milliseconds(900);
}  // namespace

/// From connect to close. Root job; `lane` is the pool's and outlives it. Suspends in its three
/// parts; ended by `lane.broken`, never destroyed midway.
Task<void> LanePool::live(Lane& lane) {
    const bool connected = co_await establish(lane);
    if (connected) {
        if (!lane.broken) {
            now_idle(lane);
        }
        // A lane that is busy is never left, broken or not: it may have been fired on, and cut,
        // before this woke from the exchange before.
        while (lane.state == LaneState::busy || !lane.broken) {
            if (lane.state == LaneState::busy) {
                co_await exchange(lane);
            } else {
                co_await lane.progress.wait();
            }
        }
        --targets_[lane.target].open;
    }
    co_await disconnect(lane);
}

/// Connects, arms the lane's receive, and shakes hands where it has TLS. False where that failed:
/// the failure is noted for the row that waits. Suspends until the connect ends; the timer or
/// `broken` cancels it.
Task<bool> LanePool::establish(Lane& lane) {
    LaneTarget& target = targets_[lane.target];
    const Result<Socket> socket = loop_.driver().open_socket(target.address);
    if (!socket) {
        connect_failed(lane, socket.error().sys_errno);
        co_return false;
    }
    lane.socket = socket.value();
    const Instant began = loop_.driver().now();
    submit_connect(lane);
    while (lane.connect.in_flight() || lane.cancel.in_flight()) {
        co_await lane.progress.wait();
        cancel_connect(lane);
    }
    bool stands = lane.connect_result >= 0 && !lane.broken;
    if (stands) {
        counts_.slow_connects += lane.connected - began > connect_slow ? 1 : 0;
        arm_stamps(lane);
        submit_receive(lane);
    }
    if (stands && lane.tls != nullptr) {
        stands = co_await shake_hands(lane);
    }
    loop_.timers().clear(lane.timer);
    lane.resent.reset();
    if (!stands) {
        connect_failed(lane, -lane.connect_result);
        co_return false;
    }
    begin_resends(lane);
    --target.connecting;
    ++target.open;
    counts_.open_max = std::max(counts_.open_max, in_use_);
    co_return true;
}

void LanePool::submit_receive(Lane& lane) {
    lane.receive.spec.kind = OpKind::receive;
    lane.receive.spec.socket = lane.socket;
    lane.receive.spec.kernel_stamps = lane.has_stamps.receive;
    loop_.driver().submit(lane.receive);
}

void LanePool::submit_connect(Lane& lane) {
    lane.connect.spec.kind = OpKind::connect;
    lane.connect.spec.socket = lane.socket;
    lane.connect.spec.address = &targets_[lane.target].address;
    loop_.driver().submit(lane.connect);
    loop_.timers().set(lane.timer, loop_.driver().now() + settings_.timeouts.connect);
}

void LanePool::cancel_connect(Lane& lane) {
    if ((!lane.timed_out && !lane.broken) || !lane.connect.in_flight() || lane.cancel.in_flight()) {
        return;
    }
    lane.cancel.spec.kind = OpKind::cancel;
    lane.cancel.spec.target = &lane.connect;
    loop_.driver().submit(lane.cancel);
}

void LanePool::connect_failed(Lane& lane, std::int32_t sys_errno) {
    --targets_[lane.target].connecting;
    lane.broken = true;
    counts_.connect_failures += 1;
    note_failure(lane, sys_errno);
}

void LanePool::note_failure(Lane& lane, std::int32_t sys_errno) {
    LaneTarget& target = targets_[lane.target];
    target.failures += 1;
    const TlsFailure failure = lane.tls != nullptr ? lane.tls->stream.failure() : 0;
    target.failure_is_tls = failure != 0;
    target.failure_errno = failure != 0 ? static_cast<std::int32_t>(failure) : sys_errno;
    target.failure_timed_out = lane.timed_out;
    target.quiet_until = loop_.driver().now() + failure_quiet;
}

/// One request and its answer. The first bytes are on their way already (the pacer fired them);
/// this sends the rest in its turn and waits for the end, whatever it is. Suspends in one place.
/// Every path ends in `settle`: one end event, or one retry.
Task<void> LanePool::exchange(Lane& lane) {
    while (!lane.exchange.over) {
        co_await lane.progress.wait();
        queue_rest(lane);
    }
    loop_.timers().clear(lane.timer);
    settle(lane);
}

/// Ends both directions, waits until the kernel holds nothing of the lane, and frees the socket.
Task<void> LanePool::disconnect(Lane& lane) {
    if (lane.state != LaneState::closing) {
        lane.enter(LaneState::closing);
    }
    if (lane.socket.open()) {
        say_goodbye(lane);
        loop_.driver().shutdown(lane.socket);
    }
    disarm_stamps(lane);
    while (lane.receive.in_flight() || lane.send.in_flight() || lane.stamps.in_flight() ||
           lane.stamps_cancel.in_flight()) {
        co_await lane.progress.wait();
    }
    release_body(lane);
    if (lane.socket.open()) {
        loop_.driver().close(lane.socket);
        lane.socket = Socket{};
    }
    lane.tls.reset();
    shelf_.disown(lane);
    lane.enter(LaneState::closed);
    closed_.push_front(lane);
    --in_use_;
    making_room_ = false;
}

void LanePool::on_connect(Op& op, const Completion& done) {
    Lane& lane = *static_cast<Lane*>(op.owner);
    lane.connect_result = done.result;
    lane.connected = done.stamp;
    lane.progress.notify();
}

void LanePool::on_cancelled(Op& op, const Completion&) {
    static_cast<Lane*>(op.owner)->progress.notify();
}

void LanePool::on_sent(Op& op, const Completion& done) {
    Lane& lane = *static_cast<Lane*>(op.owner);
    LanePool& pool = *lane.pool;
    ExchangeState& exchange = lane.exchange;
    if (lane.state != LaneState::busy) {
        if (lane.tls != nullptr) {
            pool.own_sent(lane, done.result);
        }
        lane.progress.notify();
        return;
    }
    if (is_own_lack(-done.result)) {
        lane.broken = true;  // the server would wait for the rest
        exchange.over_since = exchange.free_since = std::max(done.unread_since, exchange.fired);
        lane.end(Outcome::client_failed, -done.result);
        return;
    }
    if (done.result <= 0) {
        // The answer may be in the socket still (413, 429): the receive says how this ends.
        exchange.send_failed = true;
        exchange.sys_errno = -done.result;
        return;
    }
    exchange.accept_delay =
        exchange.accepted == 0 ? done.stamp - exchange.fired : exchange.accept_delay;
    note_rest_wait(exchange, done.behind);
    exchange.accepted += static_cast<std::size_t>(done.result);
    lane.bytes_accepted += static_cast<std::uint32_t>(done.result);
    pool.counts_.bytes_sent += done.result;
    if (lane.unsent() > 0) {
        // Not before that part was sent, or a wait that was noted would count again.
        exchange.rest_from = std::max({done.unread_since, exchange.fired, exchange.rest_from});
        lane.progress.notify();
        return;
    }
    if (lane.tls != nullptr) {
        lane.tls->spoiled = false;
    }
    pool.push_sent(lane, done.stamp, 0);
    pool.release_body(lane);
}

namespace {
// By an end of stream, an error or a close_notify, which comes before either.
bool has_ended(const Lane& lane, const Completion& done) {
    return done.result <= 0 ||
           (lane.tls != nullptr && lane.tls->stream.state() == TlsStream::State::ended);
}
}  // namespace

void LanePool::on_receive(Op& op, const Completion& done) {
    Lane& lane = *static_cast<Lane*>(op.owner);
    LanePool& pool = *lane.pool;
    if (lane.state != LaneState::busy || lane.exchange.over) {
        pool.counts_.bytes_stray += done.bytes.size();
    }
    if (lane.state == LaneState::busy) {
        const bool first = !lane.exchange.any_byte;
        read_answer(lane, done, pool.ring_, pool.receive_counts_);
        if (first && lane.exchange.any_byte && !lane.exchange.over) {
            pool.watch_exchange(lane, done.stamp);  // the idle limit may end before the timer
        }
    } else if (lane.state == LaneState::connecting) {
        lane.broken = lane.broken || lane.tls == nullptr;  // nothing was asked yet
        if (lane.tls != nullptr) {
            pool.take_handshake(lane, done);
        }
    } else if (lane.state == LaneState::idle || lane.state == LaneState::bound) {
        if (!pool.only_tls(lane, done)) {
            pool.retire(lane, has_ended(lane, done));
        }
    }
    if (!done.more || lane.broken) {
        lane.progress.notify();
    }
}

void LanePool::on_timer(Timer& timer, Instant now) {
    Lane& lane = *static_cast<Lane*>(timer.owner);
    if (lane.state == LaneState::connecting) {
        lane.timed_out = true;
        lane.progress.notify();
    } else if (lane.state == LaneState::busy) {
        lane.pool->watch_exchange(lane, now);
    }
}

// Receives only note their instant; this looks at it when the earliest deadline has passed.
void LanePool::watch_exchange(Lane& lane, Instant now) {
    const Timeouts& limits = settings_.timeouts;
    const ExchangeState& exchange = lane.exchange;
    const Instant total = exchange.fired + limits.total;
    const Instant silence =
        exchange.any_byte ? exchange.last_byte + limits.idle : exchange.fired + limits.first_byte;
    if (now >= std::min(total, silence)) {
        lane.exchange.over_since = lane.exchange.free_since = std::min(total, silence);
    }
    if (now >= total) {
        lane.end(Outcome::timeout_total);
    } else if (now >= silence) {
        lane.end(exchange.any_byte ? Outcome::timeout_idle : Outcome::timeout_first_byte);
    } else {
        loop_.timers().set(lane.timer, std::min(total, silence));
    }
}

}  // namespace driftless
