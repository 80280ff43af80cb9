// The request goes out, and time is watched.

#include "engine/replay/exchanges.hpp"

#include <algorithm>
#include <utility>

#include "engine/io/driver.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/settings.hpp"
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

// The exchange is over: what the kernel knows of it is asked, the row gets its end or another try,
// and the connection is kept or not.

namespace {

constexpr std::uint16_t status_429 = 429;

std::uint16_t status_of(const Lane& lane) {
    return lane.exchange.head_done ? static_cast<std::uint16_t>(lane.parser.status()) : 0;
}

}  // namespace

bool Exchanges::settle(Lane& lane) {
    CHECK(lane.state == LaneState::busy && lane.exchange.over && lane.exchange.row != nullptr);
    ExchangeState& exchange = lane.exchange;
    leave_rest(lane);
    stamps_.take_own(lane);
    take_resends(lane);
    if (is_stale(lane)) {
        parts_.counts.stale_retries += 1;
        parts_.counts.bytes_stray += exchange.bytes_received;  // of TLS: the record is the retry's
        shelf_.limit(lane.target)
            .see_close(exchange.fired - lane.idle_since, parts_.loop.driver().now());
        exchange.row->tries += 1;
        exchange.row->bytes = {};
        exchange.row->enter(RowStage::again);
        parts_.again.push_back(*exchange.row);
    } else {
        push_end(lane);
    }
    exchange.row = nullptr;
    lane.used = true;
    const bool silent = lane.tls == nullptr || !lane.tls->stream.has_output();
    return exchange.outcome == Outcome::ok && exchange.reusable && !lane.broken &&
           lane.unsent() == 0 && silent && may_go_on(lane) &&
           parts_.settings.connection != ConnectionRule::fresh;
}

// The server closed the connection before it had the request: of its age, as far as anybody knows.
bool Exchanges::is_stale(const Lane& lane) const {
    const ExchangeState& exchange = lane.exchange;
    const bool broke_early =
        exchange.outcome == Outcome::truncated || exchange.outcome == Outcome::send_failed;
    // One that was opened ahead of need may have stood for too long, too.
    const Duration idle = exchange.fired - lane.idle_since;
    const bool stood = lane.used || idle >= IdleLimit::seen_min;
    const bool crossed = parts_.loop.driver().now() - exchange.fired < crossing_max;
    return stood && crossed && lane.broken && !exchange.any_byte && broke_early &&
           exchange.row->tries < stale_retries_max;
}

void Exchanges::push_end(Lane& lane) {
    ExchangeState& exchange = lane.exchange;
    const Instant now = parts_.loop.driver().now();
    if (lane.unsent() > 0 && exchange.accepted > 0) {
        push_sent(lane, now, event_unfinished);
    }
    CHECK(exchange.accepted <= exchange.bytes.size());
    Event event;
    event.kind = EventKind::end;
    event.request = exchange.request;
    event.lane = lane.number;
    event.stamp_ns = now.ns;
    event.waited_ns = exchange.heard ? exchange.waited.ns : Event::no_wait;
    event.flags = exchange.entries_dropped > 0 ? event_entries_dropped : std::uint8_t{0};
    const bool is_early =
        exchange.heard_ns != 0 && exchange.left_ns - exchange.heard_ns > stamp_tolerance.ns;
    if (is_early || (exchange.outcome == Outcome::ok && lane.unsent() > 0)) {
        event.flags |= event_answered_early;
    }
    if (exchange.outcome == Outcome::cancelled && parts_.time_over) {
        event.flags |= event_censored;
    }
    event.end = end_info(*exchange.row, exchange.outcome, exchange.sys_errno);
    event.end.bytes_sent = exchange.accepted;
    event.end.bytes_received = exchange.bytes_received;
    event.end.entries_dropped = exchange.entries_dropped;
    event.end.close_delimited = exchange.close_delimited;
    event.end.status = status_of(lane);
    if (exchange.outcome == Outcome::ok) {
        event.stamp_ns = exchange.last_byte.ns;  // the read that completed the answer
    }
    if (event.end.status == status_429) {
        exchange.row->is_429 = true;
        exchange.row->retry_after_ns = lane.parser.retry_after_ns().value_or(TurnEnd::unknown);
    }
    in_flight_.end(*exchange.row, event, std::max(exchange.free_since, exchange.fired));
}

// All that we send is the request, so that what was sent again since its base is of this one. Where
// a server says no such things (no SACK), rows that were in time are tainted, too. Where the
// network makes copies, a loss may be excused until the first copy shows itself. A row that gives
// up before the kernel sends again, after 200 ms at least, may have been lost all the same.
void Exchanges::take_resends(Lane& lane) {
    if (!lane.resent) {
        return;
    }
    const std::optional<ResendCounts> counted = parts_.loop.driver().resent(lane.socket);
    if (!counted) {
        return;
    }
    const ResendMeter::Spent spent = lane.resent->take(*counted);
    Resends& resends = lane.exchange.row->resends;
    resends.known = true;
    resends.segments += spent.segments;
    copies_seen_ = copies_seen_ || spent.copied;
    const bool gave_up = !lane.exchange.heard && lane.unsent() == 0 && counted->open > 0;
    resends.lost = resends.lost || spent.lost || gave_up || (copies_seen_ && spent.segments > 0);
}

// What this answer says of the connection that it came on; false: it was the last one there.
bool Exchanges::may_go_on(Lane& lane) {
    const KeepAliveLimits& said = lane.parser.keep_alive_limits();
    shelf_.limit(lane.target).hear(said);
    if (lane.answers_left != Lane::answers_unknown) {
        CHECK(lane.answers_left > 0);  // or it would not have been used
        --lane.answers_left;
    }
    if (said.max) {
        // All in all, or still to come: one less than the first says holds either way.
        const std::uint32_t first = *said.max == 0 ? 0 : *said.max - 1;
        const bool known = lane.answers_left != Lane::answers_unknown;
        lane.answers_left = known ? std::min(lane.answers_left, *said.max) : first;
    }
    return lane.answers_left > 0 && said.timeout_s != 0u;
}

}  // namespace driftless
