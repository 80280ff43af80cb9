#include "engine/replay/lanes.hpp"

#include <algorithm>
#include <cerrno>

#include "engine/replay/run_limits.hpp"
#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

std::uint16_t status_of(const Lane& lane) {
    return lane.exchange.head_done ? static_cast<std::uint16_t>(lane.parser.status()) : 0;
}

EndInfo end_of(Outcome outcome, std::int32_t sys_errno, std::uint16_t tries,
               const Resends& resends) {
    EndInfo end{};
    end.outcome = outcome;
    end.sys_errno = sys_errno;
    end.stale_retries = static_cast<std::uint8_t>(tries);
    end.request_lost = resends.lost;
    end.retransmits =
        resends.known
            ? static_cast<std::uint16_t>(std::min<std::uint32_t>(resends.segments, retransmits_max))
            : retransmits_unknown;
    return end;
}

}  // namespace

LanePool::LanePool(Loop& loop, const std::vector<Endpoint>& targets, const ReplaySettings& settings,
                   BodyPool& bodies, EventRing& ring, std::size_t sessions)
    : loop_(loop),
      settings_(settings),
      bodies_(bodies),
      ring_(ring),
      shelf_(targets.size(), sessions) {
    targets_.resize(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        targets_[i].address = targets[i].address;
        targets_[i].tls = targets[i].tls;
        shelf_.limit(static_cast<std::uint32_t>(i)).hear(targets[i].said);
        if (targets[i].tls != nullptr && plain_ == nullptr) {
            plain_ = std::make_unique<char[]>(record_bytes_max);
        }
    }
    lanes_.reserve(settings.lanes_max);
    ended_.reserve(settings.lanes_max);
    blocks_.reserve(settings.lanes_max / block_lanes + 1);
}

LanePool::~LanePool() {
    loop_.jobs().reap();
    CHECK(in_use_ == 0);
}

Lane& LanePool::make_lane() {
    const std::uint32_t number = static_cast<std::uint32_t>(lanes_.size());
    if (number % block_lanes == 0) {
        blocks_.push_back(std::make_unique<Lane[]>(block_lanes));
    }
    Lane& lane = blocks_.back()[number % block_lanes];
    lane.pool = this;
    lane.number = number;
    lane.connect.handler = &LanePool::on_connect;
    lane.send.handler = &LanePool::on_sent;
    lane.receive.handler = &LanePool::on_receive;
    lane.cancel.handler = &LanePool::on_cancelled;
    lane.timer.handler = &LanePool::on_timer;
    lane.stamps.handler = &LanePool::on_stamp;
    lane.stamps_cancel.handler = &LanePool::on_cancelled;
    for (Op* op : {&lane.connect, &lane.send, &lane.receive, &lane.cancel, &lane.stamps,
                   &lane.stamps_cancel}) {
        op->owner = &lane;
    }
    lane.timer.owner = &lane;
    lanes_.push_back(&lane);
    return lane;
}

bool LanePool::open_one(std::uint32_t target) {
    if (full()) {
        return false;
    }
    Lane* closed = closed_.pop_front();
    Lane& lane = closed != nullptr ? *closed : make_lane();
    lane.target = target;
    lane.enter(LaneState::connecting);
    lane.used = false;
    lane.broken = false;
    lane.timed_out = false;
    lane.answers_left = Lane::answers_unknown;
    lane.progress.clear();
    if (targets_[target].tls != nullptr) {
        lane.tls = std::make_unique<LaneTls>();
        lane.tls->plain = plain_.get();
    } else {
        lane.tls.reset();
    }
    ++in_use_;
    ++targets_[target].connecting;
    counts_.connects += 1;
    loop_.jobs().spawn(live(lane));
    return true;
}

void LanePool::begin_exchange(Lane& lane) {
    lane.enter(LaneState::busy);
    lane.exchange = ExchangeState{};
    lane.exchange.framing = settings_.framing;
    lane.exchange.first_key = lane.bytes_accepted;
    lane.parser.reset();
}

void LanePool::submit_slice(Lane& lane, std::size_t bytes_max) {
    const std::string_view unsent = lane.exchange.request.bytes.substr(lane.exchange.accepted);
    lane.send.spec.kind = OpKind::send;
    lane.send.spec.socket = lane.socket;
    lane.send.spec.bytes = unsent.substr(0, bytes_max);
    loop_.driver().submit(lane.send);
}

void LanePool::prepare_fire(Lane& lane) {
    lane.send.spec.stamps = lane.has_stamps.transmit ? &lane.stamps : nullptr;
    submit_slice(lane, first_bytes_max);
}

void LanePool::fired(Lane& lane) {
    const ExchangeState& exchange = lane.exchange;
    inflight_ += exchange.stale_retries == 0 ? 1 : 0;
    loop_.timers().set(lane.timer, exchange.fired + std::min(settings_.timeouts.first_byte,
                                                             settings_.timeouts.total));
    lane.progress.notify();
}

void LanePool::queue_rest(Lane& lane) {
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
void LanePool::note_rest_wait(ExchangeState& exchange, Duration waited) {
    const Duration beyond = std::max(waited - stream_nap_max, Duration{0});
    exchange.rest_waited = std::max(exchange.rest_waited + beyond, waited);
}

bool LanePool::send_rest_slice() {
    Lane* lane = rest_.pop_front();
    if (lane == nullptr) {
        return false;
    }
    lane->rest_queued = false;
    ExchangeState& exchange = lane->exchange;
    const Instant now = loop_.driver().now();
    note_rest_wait(exchange, now - exchange.rest_from);
    exchange.rest_from = now;
    lane->send.spec.stamps = nullptr;
    submit_slice(*lane, rest_bytes_max);
    (void)loop_.driver().flush();
    return true;
}

// The answer has ended before all of the request was sent: what was left has waited for us, too.
void LanePool::leave_rest(Lane& lane) {
    if (!lane.rest_queued) {
        return;
    }
    ExchangeState& exchange = lane.exchange;
    note_rest_wait(exchange, std::max(exchange.over_since - exchange.rest_from, Duration{0}));
    rest_.remove(lane);
    lane.rest_queued = false;
}

void LanePool::release_body(Lane& lane) {
    if (lane.exchange.request.storage != nullptr) {
        bodies_.give(lane.exchange.request.storage);
        lane.exchange.request.storage = nullptr;
    }
}

// A row is over, or asks for another connection. The lane goes back to the idle ones, or is broken.
void LanePool::settle(Lane& lane) {
    ExchangeState& exchange = lane.exchange;
    leave_rest(lane);
    take_own_stamp(lane);
    take_resends(lane);
    const bool broke_early =
        exchange.outcome == Outcome::truncated || exchange.outcome == Outcome::send_failed;
    // One that was opened ahead of need may have stood for too long, too.
    const Duration idle = exchange.fired - lane.idle_since;
    const bool stood = lane.used || idle >= IdleLimit::seen_min;
    const bool crossed = loop_.driver().now() - exchange.fired < crossing_max;
    const bool stale = stood && crossed && lane.broken && !exchange.any_byte && broke_early &&
                       exchange.stale_retries < stale_retries_max;
    if (stale) {
        counts_.stale_retries += 1;
        counts_.bytes_stray += exchange.bytes_received;  // of TLS itself: the record is the retry's
        shelf_.limit(lane.target).see_close(idle, loop_.driver().now());
        DueRow row;
        row.request.due = exchange.request.due;
        row.tries = static_cast<std::uint16_t>(exchange.stale_retries + 1);
        row.fired = exchange.fired;
        row.resends = exchange.resends;
        again_.push_back(row);
    } else {
        if (lane.unsent() > 0 && exchange.accepted > 0) {
            push_sent(lane, loop_.driver().now(), event_unfinished);
        }
        Event event;
        event.kind = EventKind::end;
        event.request = exchange.request.due.request;
        event.lane = lane.number;
        event.stamp_ns = loop_.driver().now().ns;
        event.waited_ns = exchange.heard ? exchange.waited.ns : Event::no_wait;
        event.flags = exchange.entries_dropped > 0 ? event_entries_dropped : std::uint8_t{0};
        event.end =
            end_of(exchange.outcome, exchange.sys_errno, exchange.stale_retries, exchange.resends);
        event.end.bytes_sent = exchange.accepted;
        event.end.bytes_received = exchange.bytes_received;
        event.end.entries_dropped = exchange.entries_dropped;
        event.end.close_delimited = exchange.close_delimited;
        event.end.status = status_of(lane);
        if (exchange.outcome == Outcome::ok) {
            event.stamp_ns = exchange.last_byte.ns;  // the read that completed the answer
        }
        push_end(event, exchange.request.due, true, std::max(exchange.free_since, exchange.fired));
    }
    lane.used = true;
    const bool silent = lane.tls == nullptr || !lane.tls->stream.has_output();
    const bool keep = exchange.outcome == Outcome::ok && exchange.reusable && !lane.broken &&
                      lane.unsent() == 0 && silent && may_go_on(lane) &&
                      settings_.connection != ConnectionRule::fresh;
    if (keep) {
        now_idle(lane);
    } else {
        lane.broken = true;
        lane.enter(LaneState::closing);  // what completes from here on belongs to no row
    }
}

void LanePool::push_end(const Event& event, const Due& due, bool in_flight, Instant freed) {
    CHECK(!in_flight || inflight_ > 0);
    if (in_flight) {  // of answers that were read together the first to come has made room
        freed_ = inflight_ == settings_.inflight_max ? freed : std::min(freed_, freed);
    }
    inflight_ -= in_flight ? 1 : 0;
    counts_.rows_ended += 1;
    const bool answered = event.end.outcome == Outcome::ok && event.end.status == 200;
    ended_.push_back({due, Instant{event.stamp_ns}, answered});
    const EventRing::Push pushed = ring_.push(event);
    CHECK(pushed == EventRing::Push::whole);  // the ring keeps a place for every end
}

void LanePool::end_without_lane(const DueRow& row, Outcome outcome, std::int32_t sys_errno) {
    Event event;
    event.request = row.request.due.request;
    if (row.tries == 0) {  // nobody has told of it yet
        event.kind = EventKind::armed;
        event.stamp_ns = Event::never_armed;
        event.due = row.request.due;
        const EventRing::Push pushed = ring_.push(event);
        CHECK(pushed == EventRing::Push::whole);  // `has_room_for_row` was asked
    }
    event.kind = EventKind::end;
    event.stamp_ns = loop_.driver().now().ns;
    event.waited_ns = Event::no_wait;
    event.end = end_of(outcome, sys_errno, row.tries, row.resends);
    push_end(event, row.request.due, row.tries > 0, loop_.driver().now());
}

void LanePool::push_sent(const Lane& lane, Instant stamp, std::uint8_t flags) {
    Event event;
    event.kind = EventKind::sent;
    event.flags = flags;
    event.request = lane.exchange.request.due.request;
    event.lane = lane.number;
    event.stamp_ns = stamp.ns;
    event.waited_ns = lane.exchange.rest_waited.ns;
    event.sent = SentInfo{lane.exchange.request_bytes, lane.exchange.accept_delay.ns, {}};
    (void)ring_.push(event);
}

void LanePool::end_all(Outcome outcome) {
    for (Lane* lane : lanes_) {
        if (lane->state == LaneState::busy) {
            lane->end(outcome);
        }
    }
}

void LanePool::close_all() {
    for (Lane* lane : lanes_) {
        CHECK(lane->state != LaneState::bound);  // nobody closes under a row that has not ended
        if (lane->state == LaneState::idle) {
            close_idle(*lane);
        } else if (lane->state != LaneState::closed && !lane->broken) {
            lane->broken = true;
            lane->progress.notify();
        }
    }
}

}  // namespace driftless
