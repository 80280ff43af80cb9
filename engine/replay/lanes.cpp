// The life of one lane: connect, carry exchanges, disconnect; and the handlers that wake it.

#include "engine/replay/lanes.hpp"

#include <algorithm>
#include <utility>

#include "engine/io/tls.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// Of the operations and timers of lanes: each goes to the part that has the lane at the moment.
struct LanePool::Handlers {
    static Lane& lane_of(const Op& op) { return *static_cast<Lane*>(op.owner); }

    static void on_connect(Op& op, const Completion& done) {
        Connecting::connected(lane_of(op), done);
    }

    static void on_cancelled(Op& op, const Completion&) { lane_of(op).progress.notify(); }

    static void on_sent(Op& op, const Completion& done) {
        Lane& lane = lane_of(op);
        if (lane.state == LaneState::busy) {
            lane.pool->exchanges_.sent(lane, done);
            return;
        }
        if (lane.tls != nullptr) {
            Connecting::own_sent(lane, done);
        }
        lane.progress.notify();
    }

    static void on_receive(Op& op, const Completion& done) {
        Lane& lane = lane_of(op);
        LanePool& pool = *lane.pool;
        if (lane.state != LaneState::busy || lane.exchange.over) {
            pool.parts_.counts.bytes_stray += done.bytes.size();
        }
        if (lane.state == LaneState::busy) {
            pool.exchanges_.received(lane, done);
        } else if (lane.state == LaneState::connecting) {
            pool.connecting_.received(lane, done);
        } else if ((lane.state == LaneState::idle || lane.state == LaneState::bound) &&
                   !Connecting::only_tls(lane, done)) {
            pool.retire(lane, has_ended(lane, done));
        }
        if (!done.more || lane.broken) {
            lane.progress.notify();
        }
    }
    // By an end of stream, an error or a close_notify, which comes before either.
    static bool has_ended(const Lane& lane, const Completion& done) {
        return done.result <= 0 ||
               (lane.tls != nullptr && lane.tls->stream.state() == TlsStream::State::ended);
    }

    static void on_stamp(Op& op, const Completion& done) {
        Lane& lane = lane_of(op);
        if (done.more) {
            lane.pool->stamps_.take(lane, done);
        } else {
            lane.progress.notify();
        }
    }

    static void on_timer(Timer& timer, Instant now) {
        Lane& lane = *static_cast<Lane*>(timer.owner);
        if (lane.state == LaneState::connecting) {
            lane.pool->connecting_.timed_out(lane);
        } else if (lane.state == LaneState::busy && !lane.exchange.over) {
            lane.pool->exchanges_.watch(lane, now);
        }
    }
};

Lanes::Lanes(Loop& loop, const std::vector<Endpoint>& targets, const ReplaySettings& settings,
             BodyPool& bodies, EventRing& ring, std::size_t sessions)
    : parts{loop, settings, bodies, ring, {}, {}, {}},
      shelf(targets.size(), sessions),
      stamps(parts),
      in_flight(parts),
      connecting(parts, stamps),
      sealing(parts, in_flight),
      exchanges(parts, shelf, stamps, in_flight),
      pool(parts, shelf, stamps, connecting, sealing, exchanges) {
    for (const Endpoint& target : targets) {
        LaneTarget& added = parts.targets.emplace_back();
        added.address = target.address;
        added.tls = target.tls;
        shelf.limit(static_cast<std::uint32_t>(parts.targets.size() - 1)).hear(target.said);
    }
}

LanePool::LanePool(LaneParts& parts, LaneShelf& shelf, WireStamps& stamps, Connecting& connecting,
                   Sealing& sealing, Exchanges& exchanges)
    : parts_(parts),
      shelf_(shelf),
      stamps_(stamps),
      connecting_(connecting),
      sealing_(sealing),
      exchanges_(exchanges) {
    lanes_.reserve(parts.settings.lanes_max);
    blocks_.reserve(parts.settings.lanes_max / block_lanes + 1);
}

LanePool::~LanePool() {
    parts_.loop.jobs().reap();
    CHECK(in_use_ == 0);
}

Lane& LanePool::make_lane() {
    const std::uint32_t number = static_cast<std::uint32_t>(lanes_.size());
    CHECK(number < parts_.settings.lanes_max);
    if (number % block_lanes == 0) {
        blocks_.push_back(std::make_unique<Lane[]>(block_lanes));
    }
    Lane& lane = blocks_.back()[number % block_lanes];
    lane.pool = this;
    lane.number = number;
    lane.connect.handler = &Handlers::on_connect;
    lane.send.handler = &Handlers::on_sent;
    lane.receive.handler = &Handlers::on_receive;
    lane.cancel.handler = &Handlers::on_cancelled;
    lane.timer.handler = &Handlers::on_timer;
    lane.stamps.handler = &Handlers::on_stamp;
    lane.stamps_cancel.handler = &Handlers::on_cancelled;
    for (Op* op : {&lane.connect, &lane.send, &lane.receive, &lane.cancel, &lane.stamps,
                   &lane.stamps_cancel}) {
        op->owner = &lane;
    }
    lane.timer.owner = &lane;
    lanes_.push_back(&lane);
    return lane;
}

bool LanePool::open_one(std::uint32_t target) {
    CHECK(target < parts_.targets.size());
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
    lane.cancel.spec.target = nullptr;
    lane.answers_left = Lane::answers_unknown;
    lane.progress.clear();
    if (parts_.has_tls(target)) {
        if (plain_ == nullptr) {
            plain_ = std::make_unique<char[]>(record_bytes_max);
        }
        lane.tls = std::make_unique<LaneTls>();
        lane.tls->plain = plain_.get();
    } else {
        lane.tls.reset();
    }
    ++in_use_;
    ++parts_.targets[target].connecting;
    parts_.counts.connects += 1;
    parts_.loop.jobs().spawn(live(lane));
    return true;
}

/// From connect to close. Root job; `lane` is the pool's and outlives it. Suspends in its three
/// parts; ended by `lane.broken`, never destroyed midway.
Task<void> LanePool::live(Lane& lane) {
    const bool connected = co_await connecting_.establish(lane);
    if (connected) {
        parts_.counts.open_max = std::max(parts_.counts.open_max, in_use_);
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
        CHECK(parts_.targets[lane.target].open > 0);
        --parts_.targets[lane.target].open;
    }
    if (lane.state != LaneState::closing) {
        lane.enter(LaneState::closing);
    }
    co_await connecting_.disconnect(lane);
    closed(lane);
}

/// One request and its answer. The first bytes are on their way already (the pacer fired them);
/// this sends the rest in its turn and waits for the end. Suspends in one place.
/// Every path settles the row: one end event, or one retry.
Task<void> LanePool::exchange(Lane& lane) {
    while (!lane.exchange.over) {
        co_await lane.progress.wait();
        exchanges_.queue_rest(lane);
    }
    parts_.loop.timers().clear(lane.timer);
    if (exchanges_.settle(lane)) {
        now_idle(lane);
    } else {
        lane.broken = true;
        lane.enter(LaneState::closing);  // what completes from here on belongs to no row
    }
}

void LanePool::closed(Lane& lane) {
    CHECK(lane.exchange.row == nullptr);
    exchanges_.release_body(lane);
    shelf_.disown(lane);
    lane.enter(LaneState::closed);
    closed_.push_front(lane);
    CHECK(in_use_ > 0);
    --in_use_;
    making_room_ = false;
}

bool LanePool::find_ends(Instant now) {
    if (to_look_at_ >= lanes_.size()) {
        if (now - look_began_ < look_period) {
            return false;
        }
        to_look_at_ = 0;
        look_began_ = now;
    }
    QuietReceive quiet[Driver::quiet_max];
    std::size_t count = 0;
    const std::size_t end = std::min(lanes_.size(), to_look_at_ + look_lanes_max);
    for (; to_look_at_ < end && count < Driver::quiet_max; ++to_look_at_) {
        Lane& lane = *lanes_[to_look_at_];
        // A fire does not begin a silence anew: the end may have been lost before it.
        const Instant silent = std::max({lane.connected, lane.exchange.last_byte, lane.looked});
        if (lane.receive.in_flight() && !lane.broken && now - silent >= look_quiet) {
            quiet[count++] = {&lane.receive, std::max(silent, lane.exchange.fired)};
            lane.looked = now;
        }
    }
    if (count > 0) {
        parts_.loop.driver().find_ends({quiet, count});
    }
    return count > 0;
}

void LanePool::close_all() {
    for (Lane* lane : lanes_) {
        CHECK(lane->state != LaneState::bound);  // its row has not ended
        if (lane->state == LaneState::idle) {
            close_idle(*lane);
        } else if (lane->state != LaneState::closed && !lane->broken) {
            lane->break_off();
        }
    }
}

// Lanes between two exchanges: taken by rows, put back, bound ahead of time, and closed.

Lane* LanePool::take_idle(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane != nullptr) {
        exchanges_.begin(*lane);
    }
    return lane;
}

Lane* LanePool::leave_shelf_for(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = shelf_.find(target, wish, parts_.loop.driver().now());
    if (lane == nullptr) {
        return nullptr;
    }
    CHECK(lane->state == LaneState::idle && !lane->broken && lane->target == target);
    shelf_.remove(*lane);
    const LaneShelf::Claim claim = shelf_.claim(*lane, wish);
    lane->taken_as = claim.state;
    if (claim.unwanted != nullptr) {
        close_idle(*claim.unwanted);
    }
    return lane;
}

void LanePool::now_idle(Lane& lane) {
    lane.enter(LaneState::idle);
    CHECK(!lane.broken);
    lane.idle_since = lane.used ? lane.exchange.last_byte : lane.connected;
    shelf_.put(lane);
}

void LanePool::close_idle(Lane& lane) {
    CHECK(lane.state == LaneState::idle);
    shelf_.remove(lane);
    lane.enter(LaneState::closing);
    lane.break_off();
}

bool LanePool::make_room(std::uint32_t target) {
    Lane* oldest = shelf_.oldest(target);
    if (making_room_ || oldest == nullptr) {
        return making_room_;
    }
    making_room_ = true;
    close_idle(*oldest);
    return true;
}

// The server closed a connection that carries nothing, or spoke out of turn: not to be used again.
void LanePool::retire(Lane& lane, bool closed) {
    const Instant now = parts_.loop.driver().now();
    const Duration idle_for = now - lane.idle_since;
    parts_.counts.closed_idle += 1;
    lane.broken = true;
    if (lane.state == LaneState::bound) {
        // One that was idle for a while ended because of its age: the row was held back for so
        // long.
        sealing_.lose(lane, idle_for < IdleLimit::seen_min);
    } else {
        shelf_.remove(lane);
    }
    if (closed) {
        shelf_.limit(lane.target).see_close(idle_for, now);
    }
    if (!lane.used && idle_for < IdleLimit::seen_min) {
        // It accepts connections, and keeps none.
        parts_.targets[lane.target].quiet_until = now + Connecting::failure_quiet;
    }
    lane.enter(LaneState::closing);
    if (lane.tls != nullptr && !lane.used && lane.tls->stream.failure() != 0) {
        // An alert right behind the handshake: the next one fails, too.
        connecting_.note_failure(lane, 0);
    }
}

Lane* LanePool::bind(std::uint32_t target, RowUnderway& row, const LaneWish& wish, bool late) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane != nullptr) {
        sealing_.bind(*lane, row, late);
    }
    return lane;
}

bool LanePool::seal_slice() {
    Lane* lane = sealing_.next();
    if (lane == nullptr) {
        return false;
    }
    if (!sealing_.seal(*lane, parts_.loop.driver().now())) {
        retire(*lane, false);
        lane->progress.notify();
    }
    return true;
}

Lane* LanePool::take_ready(const RowUnderway& row) {
    if (row.lane == RowUnderway::no_lane) {
        return nullptr;
    }
    Lane& lane = *lanes_[row.lane];
    CHECK(lane.state == LaneState::bound && lane.tls->row == &row);
    if (!lane.tls->ready) {
        return nullptr;
    }
    (void)sealing_.unbind(lane);
    exchanges_.begin(lane);
    return &lane;
}

void LanePool::now_late(const RowUnderway& row) {
    CHECK(row.lane < lanes_.size());
    sealing_.now_late(*lanes_[row.lane]);
}

bool LanePool::give_up_old(const RowUnderway& row) {
    if (row.lane == RowUnderway::no_lane) {
        return false;
    }
    Lane& lane = *lanes_[row.lane];
    CHECK(lane.state == LaneState::bound && lane.tls->row == &row);
    const IdleLimit& limit = shelf_.limit(lane.target);
    const Duration idle_for = parts_.loop.driver().now() - lane.idle_since;
    if (!limit.known() || idle_for < limit.closed_after()) {
        return false;
    }
    parts_.counts.retired_idle += 1;
    parts_.again.push_back(sealing_.drop(lane));
    lane.enter(LaneState::closing);
    lane.break_off();
    return true;
}

void LanePool::unbind_all() {
    for (Lane* lane : lanes_) {
        if (lane->state == LaneState::bound) {
            sealing_.give_up(*lane);
            lane->enter(LaneState::closing);
            lane->break_off();
        }
    }
}

void Sealing::bind(Lane& lane, RowUnderway& row, bool late) {
    CHECK(lane.state == LaneState::idle && lane.tls->row == nullptr && row.storage != nullptr);
    lane.enter(LaneState::bound);
    row.enter(RowStage::bound);
    row.lane = lane.number;
    LaneTls& tls = *lane.tls;
    tls.row = &row;
    tls.plain_done = tls.sealed = 0;
    tls.ready = false;
    tls.late = late;
    late_count_ += late ? 1 : 0;
    (late ? sealing_late_ : sealing_).push_back(lane);
    ++parts_.targets[lane.target].bound;
}

RowUnderway& Sealing::unbind(Lane& lane) {
    CHECK(lane.state == LaneState::bound && lane.tls->row != nullptr);
    LaneTls& tls = *lane.tls;
    if (!tls.ready) {
        (tls.late ? sealing_late_ : sealing_).remove(lane);
    } else if (tls.late) {
        ready_late_.remove(lane);
    }
    CHECK(!tls.late || late_count_ > 0);
    late_count_ -= tls.late ? 1 : 0;
    CHECK(parts_.targets[lane.target].bound > 0);
    --parts_.targets[lane.target].bound;
    tls.row->lane = RowUnderway::no_lane;
    return *std::exchange(tls.row, nullptr);
}

// A record never reaches plain bytes that are not inside a record yet (tls.hpp).
bool Sealing::seal(Lane& lane, Instant now) {
    LaneTls& tls = *lane.tls;
    CHECK(lane.state == LaneState::bound && !tls.ready);
    RowUnderway& row = *tls.row;
    const std::size_t bytes = tls.plain_done == 0 ? first_record_bytes : record_bytes_max;
    const std::string_view plain = row.bytes.substr(tls.plain_done, bytes);
    char* const at = row.storage + tls.sealed;
    const std::size_t room = static_cast<std::size_t>(plain.data() + plain.size() - at);
    const std::size_t sealed = tls.stream.seal(plain, at, room);
    if (sealed == 0) {
        return false;
    }
    CHECK(sealed <= room);
    tls.spoiled = true;  // until they are sent
    tls.sealed += sealed;
    tls.plain_done += plain.size();
    if (tls.plain_done < row.bytes.size()) {
        return true;
    }
    (tls.late ? sealing_late_ : sealing_).remove(lane);
    tls.ready = true;
    row.bytes = {row.storage, tls.sealed};
    row.armed = now;
    if (tls.late && row.tries > 0) {
        // It is in flight already: rows before it may wait for its end.
        ready_late_.push_front(lane);
    } else if (tls.late) {
        ready_late_.push_back(lane);
    }
    return true;
}

void Sealing::now_late(Lane& lane) {
    LaneTls& tls = *lane.tls;
    CHECK(lane.state == LaneState::bound && !tls.ready && !tls.late && tls.row->taken);
    tls.late = true;
    ++late_count_;
    sealing_.remove(lane);
    sealing_late_.push_back(lane);
}

RowUnderway& Sealing::drop(Lane& lane) {
    RowUnderway& row = unbind(lane);
    row.bytes = {};
    row.enter(RowStage::again);
    return row;
}

void Sealing::lose(Lane& lane, bool young) {
    const bool late = lane.tls->late;
    const TlsFailure failure = lane.tls->stream.failure();
    RowUnderway& row = drop(lane);
    row.losses = static_cast<std::uint16_t>(row.losses + (young ? 1 : 0));
    const bool refused = failure != 0 && !lane.used;
    // Reserved ring slots are for rows in flight only: where there is no room, it is tried again.
    const bool may_end = row.tries > 0 || parts_.ring.has_room_for_row();
    if (late && may_end && (refused || row.losses > losses_max)) {
        parts_.bodies.give(std::exchange(row.storage, nullptr));
        in_flight_.end_without_lane(row, failure != 0 ? Outcome::tls_failed : Outcome::send_failed,
                                    static_cast<std::int32_t>(failure));
    } else {
        parts_.again.push_back(row);
    }
}

void Sealing::give_up(Lane& lane) {
    const bool late = lane.tls->late;
    RowUnderway& row = drop(lane);
    if (late) {
        parts_.again.push_back(row);
    } else {
        parts_.bodies.give(std::exchange(row.storage, nullptr));
        row.enter(RowStage::wanted);
    }
}

}  // namespace driftless
