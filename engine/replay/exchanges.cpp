#include "engine/replay/exchanges.hpp"

#include <utility>

#include "engine/io/driver.hpp"
#include "engine/io/tls.hpp"
#include "engine/replay/settings.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

// A SYN that was lost is sent again after a second (timing-and-io.md, D).
static constexpr Duration connect_slow = milliseconds(900);

static bool reads_nothing(LaneTls& tls) {
    const bool plain = !tls.stream.read(tls.plain, record_bytes_max).empty();
    return !plain && tls.stream.state() == TlsStream::State::open && !tls.stream.has_output();
}

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

/// The handshake of a lane whose connection is established. False where it failed, or the lane
/// broke. Suspends between its steps, which `handshake_slice` makes; bounded by
/// `--timeout-connect`.
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
    Event event = lane.event(EventKind::wire, done.stamp);
    event.wire_ns = wire_ns;
    (void)parts_.ring.push(event);
}

// The request goes out, and time is watched.

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
    lane.exchange.past_limit =
        lane.exchange.past_limit || (!was_over && is_past_limit(lane.exchange, done));
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

// A client that did not run cut nothing off. Silence begins with the last byte, which may have come
// before it was read.
bool Exchanges::is_past_limit(const ExchangeState& exchange, const Completion& done) const {
    Deadlines deadlines = deadlines_of(exchange);
    const Instant heard =
        exchange.any_byte ? exchange.over_since : std::max(done.unread_since, exchange.fired);
    deadlines.silence = std::min(deadlines.silence, heard + parts_.settings.timeouts.idle);
    return done.stamp > std::min(deadlines.first(), parts_.drains_at);
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
    Event event = lane.event(EventKind::sent, stamp);
    event.flags = flags;
    event.waited_ns = exchange.rest_waited.ns;
    event.sent = SentInfo{exchange.bytes.size(), exchange.accept_delay.ns, {}};
    (void)parts_.ring.push(event);
}

// The exchange is over: what the kernel knows of it is asked, the row gets its end or another try,
// and the connection is kept or not.

static constexpr std::uint16_t status_429 = 429;

static std::uint16_t status_of(const Lane& lane) {
    return lane.exchange.head_done ? static_cast<std::uint16_t>(lane.parser.status()) : 0;
}

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

// The server closed the connection before it had the request: because of its age, as far as can be
// known.
bool Exchanges::is_stale(const Lane& lane) const {
    const ExchangeState& exchange = lane.exchange;
    const bool broke_early =
        exchange.outcome == Outcome::truncated || exchange.outcome == Outcome::send_failed;
    // A connection that was opened ahead of need may have been idle for too long, too.
    const Duration idle = exchange.fired - lane.idle_since;
    const bool stood = lane.used || idle >= IdleLimit::seen_min;
    const bool crossed = parts_.loop.driver().now() - exchange.fired < crossing_max;
    return stood && crossed && lane.broken && !exchange.any_byte && broke_early &&
           exchange.row->tries < stale_retries_max;
}

bool Exchanges::is_end_unsure(const ExchangeState& exchange, Instant now) {
    const bool is_abandoned = exchange.outcome == Outcome::abandoned;
    // By then it may have seemed to be without an answer for longer than another limit allows.
    const bool is_late = now - exchange.over_since > Duration{abandoned_late_max_ns};
    const bool has_stalled = exchange.stalled_since != never;
    return (exchange.past_limit && exchange.outcome == Outcome::ok) ||
           (is_abandoned && (exchange.past_limit || is_late)) ||
           (has_stalled && is_cut_off(exchange.outcome));
}

void Exchanges::push_end(Lane& lane) {
    ExchangeState& exchange = lane.exchange;
    const Instant now = parts_.loop.driver().now();
    if (lane.unsent() > 0 && exchange.accepted > 0) {
        push_sent(lane, now, event_unfinished);
    }
    CHECK(exchange.accepted <= exchange.bytes.size());
    Event event = lane.event(EventKind::end, now);
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
    event.flags |= is_end_unsure(exchange, now) ? event_end_unsure : std::uint8_t{0};
    event.flags |= exchange.host_slept ? event_host_slept : std::uint8_t{0};
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
