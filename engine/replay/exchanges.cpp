// The request goes out, and time is watched.
#include "engine/replay/exchanges.hpp"

#include <algorithm>
#include <utility>

#include "engine/io/own_lack.hpp"
#include "engine/replay/run_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void Exchanges::begin(Lane& lane) {
    CHECK(lane.exchange.row == nullptr && lane.exchange.storage == nullptr);
    lane.enter(LaneState::busy);
    lane.exchange = ExchangeState{};
    lane.exchange.framing = parts_.settings.framing;
    lane.exchange.first_key = lane.bytes_accepted;
    lane.parser.reset();
}

void Exchanges::prepare(Lane& lane, RowUnderway& row, const AnswerLimits& limits,
                        std::optional<Duration> patience) {
    CHECK(lane.state == LaneState::busy && !row.bytes.empty());
    row.enter(RowStage::in_flight);
    ExchangeState& exchange = lane.exchange;
    exchange.row = &row;
    exchange.request = row.due.request;
    exchange.bytes = row.bytes;
    exchange.storage = std::exchange(row.storage, nullptr);
    exchange.is_retry = row.tries > 0;
    exchange.limits = limits;
    exchange.patience = patience;
    lane.send.spec.stamps = lane.has_stamps.transmit ? &lane.stamps : nullptr;
    submit_slice(lane, first_bytes_max);
}

void Exchanges::submit_slice(Lane& lane, std::size_t bytes_max) {
    CHECK(lane.unsent() > 0);
    const std::string_view unsent = lane.exchange.bytes.substr(lane.exchange.accepted);
    lane.send.spec.kind = OpKind::send;
    lane.send.spec.socket = lane.socket;
    lane.send.spec.bytes = unsent.substr(0, bytes_max);
    parts_.loop.driver().submit(lane.send);
}

void Exchanges::fired(Lane& lane, Instant at) {
    ExchangeState& exchange = lane.exchange;
    CHECK(exchange.row != nullptr && exchange.accepted == 0);
    exchange.fired = at;
    exchange.row->fired = at;
    in_flight_.add(*exchange.row);
    parts_.loop.timers().set(lane.timer, deadlines_of(exchange).first());
    lane.progress.notify();
}

void Exchanges::queue_rest(Lane& lane) {
    CHECK(lane.state == LaneState::busy);
    const ExchangeState& exchange = lane.exchange;
    if (exchange.over || exchange.send_failed || lane.unsent() == 0 || lane.rest_queued ||
        lane.send.in_flight()) {
        return;
    }
    lane.rest_queued = true;
    rest_.push_back(lane);
}

// Waits add up. But for so long the loop may have slept while the kernel had not taken the part
// before: of waits that may be no more than that, the longest counts.
void Exchanges::note_rest_wait(ExchangeState& exchange, Duration waited) {
    CHECK(waited.ns >= 0);
    const Duration beyond = std::max(waited - stream_nap_max, Duration{0});
    exchange.rest_waited = std::max(exchange.rest_waited + beyond, waited);
}

bool Exchanges::send_rest_slice() {
    Lane* lane = rest_.pop_front();
    if (lane == nullptr) {
        return false;
    }
    CHECK(lane->state == LaneState::busy && lane->rest_queued);
    lane->rest_queued = false;
    ExchangeState& exchange = lane->exchange;
    const Instant now = parts_.loop.driver().now();
    note_rest_wait(exchange, now - exchange.rest_from);
    exchange.rest_from = now;
    lane->send.spec.stamps = nullptr;
    submit_slice(*lane, rest_bytes_max);
    (void)parts_.loop.driver().flush();
    return true;
}

// The answer has ended before all of the request was sent: what was left has waited for us, too.
void Exchanges::leave_rest(Lane& lane) {
    if (!lane.rest_queued) {
        return;
    }
    ExchangeState& exchange = lane.exchange;
    note_rest_wait(exchange, std::max(exchange.over_since - exchange.rest_from, Duration{0}));
    rest_.remove(lane);
    lane.rest_queued = false;
}

void Exchanges::release_body(Lane& lane) {
    if (lane.exchange.storage != nullptr) {
        parts_.bodies.give(lane.exchange.storage);
        lane.exchange.storage = nullptr;
    }
}

void Exchanges::sent(Lane& lane, const Completion& done) {
    CHECK(lane.state == LaneState::busy);
    ExchangeState& exchange = lane.exchange;
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
    CHECK(exchange.accepted <= exchange.bytes.size());
    lane.bytes_accepted += static_cast<std::uint32_t>(done.result);
    parts_.counts.bytes_sent += done.result;
    if (lane.unsent() > 0) {
        // Not before that part was sent, or a wait that was noted would count again.
        exchange.rest_from = std::max({done.unread_since, exchange.fired, exchange.rest_from});
        lane.progress.notify();
        return;
    }
    if (lane.tls != nullptr) {
        lane.tls->spoiled = false;
    }
    push_sent(lane, done.stamp, 0);
    release_body(lane);
}

void Exchanges::received(Lane& lane, const Completion& done) {
    CHECK(lane.state == LaneState::busy);
    const bool first = !lane.exchange.any_byte;
    const bool was_over = lane.exchange.over;
    read_answer(lane, done, parts_.ring, receive_counts_, parts_.sleep);
    if (lane.exchange.over && !was_over) {
        note_over(lane);
    }
    if (first && lane.exchange.any_byte && !lane.exchange.over) {
        // The idle limit may end before the timer. One that has passed already ends the exchange
        // when all is read.
        parts_.loop.timers().set(lane.timer, deadlines_of(lane.exchange).first());
    }
}

// What waits for the answer leaves before anything else is read.
void Exchanges::note_over(Lane& lane) {
    if (!parts_.turns_wait) {
        return;
    }
    const ExchangeState& exchange = lane.exchange;
    if (exchange.outcome == Outcome::ok && lane.parser.status() == status_ok) {
        in_flight_.answered(*exchange.row, exchange.last_byte);
    }
    parts_.loop.driver().end_turn();
}

Exchanges::Deadlines Exchanges::deadlines_of(const ExchangeState& exchange) const {
    const Timeouts& limits = parts_.settings.timeouts;
    return {
        exchange.fired + limits.total,
        exchange.any_byte ? exchange.last_byte + limits.idle : exchange.fired + limits.first_byte,
        exchange.patience ? exchange.fired + *exchange.patience : never};
}

// Receives only note their instant; this looks at it when the earliest deadline has passed.
void Exchanges::watch(Lane& lane, Instant now) {
    CHECK(lane.state == LaneState::busy);
    ExchangeState& exchange = lane.exchange;
    const Deadlines deadlines = deadlines_of(exchange);
    const Instant next = deadlines.first();
    if (now >= next) {
        exchange.over_since = exchange.free_since = next;
    }
    if (now >= deadlines.abandon && deadlines.abandon == next) {
        lane.end(Outcome::abandoned);
    } else if (now >= deadlines.total) {
        lane.end(Outcome::timeout_total);
    } else if (now >= deadlines.silence) {
        lane.end(exchange.any_byte ? Outcome::timeout_idle : Outcome::timeout_first_byte);
    } else {
        parts_.loop.timers().set(lane.timer, next);
    }
}

void Exchanges::push_sent(const Lane& lane, Instant stamp, std::uint8_t flags) {
    const ExchangeState& exchange = lane.exchange;
    Event event;
    event.kind = EventKind::sent;
    event.flags = flags;
    event.request = exchange.request;
    event.lane = lane.number;
    event.stamp_ns = stamp.ns;
    event.waited_ns = exchange.rest_waited.ns;
    event.sent = SentInfo{exchange.bytes.size(), exchange.accept_delay.ns, {}};
    (void)parts_.ring.push(event);
}

}  // namespace driftless
