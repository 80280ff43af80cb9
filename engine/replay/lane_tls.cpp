// TLS of lanes: handshakes outside the guard, requests turned into records before they are due, and
// what becomes of both when a connection ends.

#include <utility>

#include "engine/replay/lanes.hpp"
#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"

namespace driftless {

/// The handshake of a lane whose connection stands. False where it failed, or the lane broke.
/// Suspends between its steps, which `handshake_slice` makes; bounded by `--timeout-connect`.
Task<bool> LanePool::shake_hands(Lane& lane) {
    TlsStream& stream = lane.tls->stream;
    stream.connect(*targets_[lane.target].tls);
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
    lane.connected = loop_.driver().now();
    lane.tls->own_bytes = lane.bytes_accepted;
    const bool stands = !lane.broken && !lane.timed_out && reads_nothing(*lane.tls);
    co_return stands;
}

void LanePool::queue_step(Lane& lane) {
    if (!lane.tls->in_steps) {
        lane.tls->in_steps = true;
        lane.tls->step_wanted = loop_.driver().now();
        steps_.push_back(lane);
    }
}

// Bytes of a handshake are kept; arithmetic has to wait for a quiet moment.
void LanePool::take_handshake(Lane& lane, const Completion& done) {
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

bool LanePool::handshake_slice() {
    Lane* lane = steps_.pop_front();
    if (lane == nullptr) {
        return false;
    }
    lane->tls->in_steps = false;
    lane->tls->stream.step();
    lane->progress.notify();
    return true;
}

Instant LanePool::handshake_wanted() const {
    return steps_.first == nullptr ? never : steps_.first->tls->step_wanted;
}

// Sends what TLS itself has to say while no request is on the lane.
void LanePool::send_own(Lane& lane) {
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
    loop_.driver().submit(lane.send);
}

// Of a handshake, or of a farewell that nobody waits for.
void LanePool::own_sent(Lane& lane, std::int32_t result) {
    if (result <= 0) {
        lane.connect_result = result;
        lane.broken = true;
        return;
    }
    lane.bytes_accepted += static_cast<std::uint32_t>(result);
    lane.tls->sending.erase(0, static_cast<std::size_t>(result));
}

// Best effort, with what the socket takes at once: an alert, or that we are done. Behind records
// that were made and never sent, nothing could be read.
void LanePool::say_goodbye(Lane& lane) {
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
    (void)loop_.driver().flush();
}

// What comes while no request is out may be tickets and key updates, and nothing else.
bool LanePool::only_tls(Lane& lane, const Completion& done) {
    if (lane.tls == nullptr || done.result <= 0) {
        return false;
    }
    lane.tls->stream.feed(done.bytes);
    return reads_nothing(*lane.tls);
}

bool LanePool::reads_nothing(LaneTls& tls) {
    const bool plain = !tls.stream.read(tls.plain, record_bytes_max).empty();
    return !plain && tls.stream.state() == TlsStream::State::open && !tls.stream.has_output();
}

Lane* LanePool::bind(std::uint32_t target, const DueRow& row, const LaneWish& wish, bool late) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane == nullptr) {
        return nullptr;
    }
    lane->enter(LaneState::bound);
    ++targets_[target].bound;
    bound_.add(*lane, row, late);
    return lane;
}

bool LanePool::seal_slice() {
    Lane* lane = bound_.to_seal();
    if (lane == nullptr) {
        return false;
    }
    if (!bound_.seal(*lane, loop_.driver().now())) {
        retire(*lane, false);
        lane->progress.notify();
    }
    return true;
}

Lane* LanePool::take_ready(DueRow& row) {
    if (row.request.lane == ArmedRequest::no_lane) {
        return nullptr;
    }
    Lane& lane = *lanes_[row.request.lane];
    CHECK(lane.state == LaneState::bound);
    CHECK(lane.tls->row.request.due.request == row.request.due.request);
    if (!lane.tls->ready) {
        return nullptr;
    }
    const Due due = row.request.due;  // it knows its rank by now
    row.request = unbind(lane).request;
    row.request.due = due;
    begin_exchange(lane);
    return &lane;
}

void LanePool::now_late(const DueRow& row) {
    bound_.now_late(*lanes_[row.request.lane], row);
}

Lane& LanePool::take_late(DueRow& row) {
    CHECK(bound_.late_front() != nullptr);
    Lane& lane = *bound_.late_front();
    row = unbind(lane);
    begin_exchange(lane);
    return lane;
}

DueRow LanePool::unbind(Lane& lane) {
    --targets_[lane.target].bound;
    return bound_.remove(lane);
}

// The row of a lane that will not carry it. Its bytes are worth nothing, but it keeps their
// storage: it must not wait for memory behind rows that cannot leave before it.
DueRow LanePool::drop_bound(Lane& lane) {
    DueRow row = unbind(lane);
    row.request.bytes = {};
    row.request.lane = ArmedRequest::no_lane;
    return row;
}

void LanePool::lose_bound(Lane& lane) {
    const bool late = lane.tls->late;
    const TlsFailure failure = lane.tls->stream.failure();
    DueRow row = drop_bound(lane);
    // One that had stood for a while ended of its age: the row was held back for so long.
    if (idle_for(lane) < IdleLimit::seen_min) {
        ++row.losses;
    }
    const bool refused = failure != 0 && !lane.used;
    // The place of an end belongs to rows that have left: without one it is tried again.
    const bool may_end = row.tries > 0 || ring_.has_room_for_row();
    if (late && may_end && (refused || row.losses > losses_max)) {
        bodies_.give(row.request.storage);
        end_without_lane(row, failure != 0 ? Outcome::tls_failed : Outcome::send_failed,
                         static_cast<std::int32_t>(failure));
    } else {
        again_.push_back(row);
    }
}

bool LanePool::give_up_old(const ArmedRequest& request) {
    if (request.lane == ArmedRequest::no_lane) {
        return false;
    }
    Lane& lane = *lanes_[request.lane];
    const IdleLimit& limit = shelf_.limit(lane.target);
    if (!limit.known() || idle_for(lane) < limit.closed_after()) {
        return false;
    }
    counts_.retired_idle += 1;
    again_.push_back(drop_bound(lane));
    lane.enter(LaneState::closing);
    lane.broken = true;
    lane.progress.notify();
    return true;
}

void LanePool::unbind_all() {
    for (Lane* lane : lanes_) {
        if (lane->state != LaneState::bound) {
            continue;
        }
        const bool late = lane->tls->late;
        const DueRow row = drop_bound(*lane);
        if (late) {
            again_.push_back(row);
        } else {
            bodies_.give(row.request.storage);
        }
        lane->enter(LaneState::closing);
        lane->broken = true;
        lane->progress.notify();
    }
}

}  // namespace driftless
