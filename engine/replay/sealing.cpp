#include "engine/replay/sealing.hpp"

#include <utility>

#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"

namespace driftless {

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

// A record never reaches plain bytes that are not inside a record yet (records.hpp).
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
    // The place of an end belongs to rows that have left: without one it is tried again.
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
