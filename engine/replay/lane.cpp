#include "engine/replay/lane.hpp"

#include "engine/host/probes.hpp"
#include "engine/replay/lane_parts.hpp"

namespace driftless {

static constexpr std::size_t tls_alert_bytes = 7;  ///< RFC 8446, 5.1 and 6: a header of 5, and 2

namespace {

/// How long bytes of one receive have waited for us, at most.
struct Waits {
    Duration any;   ///< whichever of them
    Duration last;  ///< the last one
};

// One receive's worth of context.
struct Reader {
    Lane& lane;
    EventRing& ring;
    ReceiveCounts& counts;
    const Completion& done;
    Waits waits;
    std::uint32_t chunks = 0;

    void push(EventKind kind, std::string_view payload, std::uint8_t flags = 0,
              Duration waited = {}) {
        Event event = lane.event(kind, done.stamp);
        event.flags = flags;
        event.waited_ns = waited.ns;
        event.status =
            kind == EventKind::head ? static_cast<std::uint16_t>(lane.parser.status()) : 0;
        const EventRing::Push pushed = ring.push(event, payload);
        if (pushed == EventRing::Push::payload_dropped) {
            counts.dropped_payloads += payload.empty() ? 0 : 1;
        } else if (pushed == EventRing::Push::entry_dropped) {
            counts.dropped_entries += 1;
            lane.exchange.entries_dropped += 1;
        }
    }

    void head_done() {
        ExchangeState& exchange = lane.exchange;
        CHECK(!exchange.head_done);
        exchange.head_done = true;
        push(EventKind::head, {});
        const bool stream = lane.parser.status() == status_ok;
        lane.scanner.reset(stream ? exchange.framing : Framing::whole);
        exchange.framing = stream ? exchange.framing : Framing::whole;
    }

    void first_byte() {
        ExchangeState& exchange = lane.exchange;
        exchange.heard_ns = exchange.any_byte ? exchange.heard_ns : done.kernel_ns;
        exchange.any_byte = true;
    }

    // Plain bytes as they come out of the records that this receive has completed.
    void records() {
        LaneTls& tls = *lane.tls;
        ExchangeState& exchange = lane.exchange;
        tls.stream.feed(done.bytes);
        for (;;) {  // bounded: each round takes a record out of what was received
            const std::string_view plain = tls.stream.read(tls.plain, record_bytes_max);
            if (plain.empty()) {
                break;
            }
            lane.broken = lane.broken || exchange.over;
            first_byte();
            bytes(plain);
        }
        if (tls.stream.state() == TlsStream::State::failed) {
            lane.broken = true;
            lane.end(Outcome::tls_failed, static_cast<std::int32_t>(tls.stream.failure()));
        }
    }

    // Of an event that ends there. With the last byte of a read comes the kernel's stamp of it. The
    // line end that closes a chunk of HTTP is taken for a part of the packet before it.
    Duration waited_behind(const char* end) const {
        if (lane.tls != nullptr) {
            return waits.any;
        }
        const std::string_view left(
            end, static_cast<std::size_t>(done.bytes.data() + done.bytes.size() - end));
        return left.empty() || left == "\r\n" ? waits.last : waits.any;
    }

    // Cuts body bytes into events. What is left over belongs to an event that goes on.
    void body(std::string_view bytes) {
        ExchangeState& exchange = lane.exchange;
        if (exchange.framing == Framing::whole) {
            const bool asked_for = lane.parser.status() == status_ok;
            if (exchange.whole_bytes <
                (asked_for ? exchange.limits.event_bytes_max : whole_body_bytes_max)) {
                push(EventKind::part, bytes, 0, waits.any);
            }
            exchange.whole_bytes += bytes.size();
            return;
        }
        while (!bytes.empty() && !exchange.over) {
            const std::size_t cut = lane.scanner.next(bytes);
            CHECK(cut <= bytes.size());
            if (cut == 0) {
                push(EventKind::part, bytes, 0, waits.any);
                return;
            }
            if (lane.scanner.cut_keep_alive()) {
                push(EventKind::chunk, {}, event_keep_alive);
                bytes.remove_prefix(cut);
                continue;
            }
            const std::uint8_t flags = chunks > 0 ? event_coalesced : std::uint8_t{0};
            push(EventKind::chunk, bytes.substr(0, cut), flags, waited_behind(bytes.data() + cut));
            probe_chunk(exchange.request, cut, done.stamp.ns);
            counts.chunks += 1;
            counts.coalesced_chunks += chunks > 0 ? 1 : 0;
            ++chunks;
            ++exchange.events;
            if (exchange.events > exchange.limits.events_max) {
                lane.end(AnswerLimit::events);
            }
            bytes.remove_prefix(cut);
        }
    }

    void bytes(std::string_view bytes) {
        ExchangeState& exchange = lane.exchange;
        while (!exchange.over) {
            const std::string_view fed = bytes;
            const ResponseParser::Step step = lane.parser.feed(bytes);
            CHECK(step.consumed <= bytes.size());
            bytes.remove_prefix(step.consumed);
            switch (step.piece) {
                case ResponsePiece::need_more:
                    return;
                case ResponsePiece::head_bytes:
                    push(EventKind::part, step.span);
                    break;
                case ResponsePiece::head_done:
                    head_done();
                    break;
                case ResponsePiece::body:
                    body(step.span);
                    break;
                case ResponsePiece::done:
                    // Bytes behind the message belong to no request: such a connection is not used
                    // again.
                    exchange.reusable = lane.parser.keep_alive() && bytes.empty();
                    lane.end(Outcome::ok);
                    return;
                case ResponsePiece::error:
                    if (lane.parser.head_too_large()) {
                        lane.end(AnswerLimit::head);
                    } else {
                        if (is_of_tls_port(fed.substr(0, tls_alert_bytes))) {  // for the error
                            push(EventKind::part, fed.substr(0, tls_alert_bytes));
                        }
                        lane.end(Outcome::bad_http);
                    }
                    return;
            }
        }
    }
};

}  // namespace

// While we do not read, the receive window closes and the server cannot send: what comes later is
// late by as much, though it does not wait for us. An eighth of the kernel's first buffer can do
// that, as small packets take up far more of it than they hold.
static void note_backlog(ExchangeState& exchange, std::size_t bytes, Instant since, Instant now) {
    constexpr Duration late_min = milliseconds(1);
    constexpr std::size_t closing_bytes = 16 * 1024;
    exchange.backlog = now - since >= late_min ? exchange.backlog + bytes : 0;
    if (exchange.backlog >= closing_bytes) {
        exchange.stalled_since = std::min(exchange.stalled_since, since);
    }
}

// A read may hold many packets, and the kernel keeps the stamp of the last one only: of the others
// all that is known is that nothing was waiting at `unread_since`. A kernel that is late itself may
// say so of bytes that it had stamped already. None was there before its request left.
static Waits note_wait(ExchangeState& exchange, const Completion& done, ReceiveCounts& counts,
                       const HostSleep& sleep) {
    const std::int64_t kernel_ns = believable_stamp_ns(done.kernel_ns, exchange.fired, done.stamp);
    counts.stamps_refused += done.kernel_ns != 0 && kernel_ns == 0 ? 1 : 0;
    const Instant nothing_there = std::max(done.unread_since, exchange.fired);
    const Instant since =
        kernel_ns != 0 ? std::min(Instant{kernel_ns}, nothing_there) : nothing_there;
    const Duration asleep = nothing_there <= sleep.noticed ? sleep.length : Duration{0};
    note_backlog(exchange, done.bytes.size(), nothing_there, done.stamp);
    const Instant missing_since = std::min(nothing_there, exchange.stalled_since);
    const Duration waited = std::max(done.stamp - since, done.stamp - missing_since + asleep);
    exchange.heard = true;
    exchange.over_since = kernel_ns != 0 ? Instant{kernel_ns} : nothing_there;
    // After a stop answers are read in any order, and only the stamp of the first is of use.
    const bool first = exchange.over_since - nothing_there <= RoomTimes::unseen_max;
    exchange.free_since = first ? exchange.over_since : nothing_there;
    exchange.waited = std::max(exchange.waited, waited);
    counts.delays += kernel_ns != 0 ? 1 : 0;
    counts.delay_sum_ns += waited.ns;
    counts.delay_max_ns = std::max(counts.delay_max_ns, waited.ns);
    const Duration since_stamp =
        std::max(done.stamp - Instant{kernel_ns}, Duration{0}) + stamp_tolerance + asleep;
    const bool is_stamped = kernel_ns != 0 && done.stamps_last_byte;
    const bool is_stalled = exchange.stalled_since != never;
    return {waited, is_stamped && !is_stalled ? std::min(since_stamp, waited) : waited};
}

// By an end of stream, a close_notify or an error.
static void connection_ended(Lane& lane, const Completion& done) {
    ExchangeState& exchange = lane.exchange;
    // A send that failed took the socket's error with it: the receive then sees a mere end.
    const std::int32_t sys_errno = done.result < 0 ? -done.result : exchange.sys_errno;
    lane.broken = true;
    if (exchange.over) {
        return;
    }
    // Without a close_notify it may have been cut off on the way (RFC 8446, 6.1).
    const bool in_order =
        lane.tls == nullptr || lane.tls->stream.state() == TlsStream::State::ended;
    if (done.result >= 0 && in_order && exchange.head_done && lane.parser.finish()) {
        exchange.close_delimited = true;
        exchange.last_byte = done.stamp;  // the end of the connection is what completes it
        lane.end(Outcome::ok);
        return;
    }
    const bool nothing_came = !exchange.any_byte;
    const bool still_sending = lane.unsent() > 0;
    lane.end(is_own_lack(sys_errno)          ? Outcome::client_failed
             : nothing_came && still_sending ? Outcome::send_failed
                                             : Outcome::truncated,
             sys_errno);
}

void read_answer(Lane& lane, const Completion& done, EventRing& ring, ReceiveCounts& counts,
                 const HostSleep& sleep) {
    CHECK(lane.state == LaneState::busy);
    ExchangeState& exchange = lane.exchange;
    if (done.result <= 0) {
        if (!exchange.over) {
            note_wait(exchange, done, counts, sleep);
        }
        connection_ended(lane, done);
        return;
    }
    counts.receives += 1;
    counts.bytes += done.result;
    if (exchange.over) {
        lane.broken = true;  // the server goes on after the end: nothing more can be trusted
        return;
    }
    exchange.first_byte = exchange.any_byte ? exchange.first_byte : done.stamp;
    exchange.last_byte = done.stamp;
    exchange.bytes_received += done.bytes.size();
    probe_receive(exchange.request, done.bytes.size(), done.stamp.ns);
    Reader reader{lane, ring, counts, done, note_wait(exchange, done, counts, sleep)};
    if (lane.tls == nullptr) {
        reader.first_byte();
        reader.bytes(done.bytes);
    } else {
        reader.records();
    }
    const bool ended = lane.tls != nullptr && lane.tls->stream.state() == TlsStream::State::ended;
    if (ended) {
        connection_ended(lane, done);
    }
    if (exchange.bytes_received > exchange.limits.bytes_max) {
        lane.end(AnswerLimit::bytes);
    }
}

}  // namespace driftless
