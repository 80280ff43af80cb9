// The exchange is over: what the kernel knows of it is asked, the row gets its end or another try,
// and the connection is kept or not.

#include <algorithm>
#include <utility>

#include "engine/replay/exchanges.hpp"
#include "engine/replay/kernel_stamp.hpp"
#include "proto/core/check.hpp"

namespace driftless {

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
