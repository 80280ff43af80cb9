#include "engine/replay/bound_lanes.hpp"

#include <utility>

#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void BoundLanes::add(Lane& lane, const DueRow& row, bool late) {
    CHECK(lane.state == LaneState::bound);
    LaneTls& tls = *lane.tls;
    tls.row = row;
    tls.row.request.lane = lane.number;
    tls.plain_done = tls.sealed = 0;
    tls.ready = false;
    tls.late = late;
    late_count_ += late ? 1 : 0;
    (late ? sealing_late_ : sealing_).push_back(lane);
}

DueRow BoundLanes::remove(Lane& lane) {
    CHECK(lane.state == LaneState::bound);
    LaneTls& tls = *lane.tls;
    if (!tls.ready) {
        (tls.late ? sealing_late_ : sealing_).remove(lane);
    } else if (tls.late) {
        ready_late_.remove(lane);
    }
    CHECK(!tls.late || late_count_ > 0);
    late_count_ -= tls.late ? 1 : 0;
    return std::exchange(tls.row, DueRow{});
}

// A record never reaches plain bytes that are not inside a record yet (records.hpp).
bool BoundLanes::seal(Lane& lane, Instant now) {
    LaneTls& tls = *lane.tls;
    CHECK(lane.state == LaneState::bound && !tls.ready);
    ArmedRequest& request = tls.row.request;
    const std::size_t bytes = tls.plain_done == 0 ? first_record_bytes : record_bytes_max;
    const std::string_view plain = request.bytes.substr(tls.plain_done, bytes);
    char* const at = request.storage + tls.sealed;
    const std::size_t room = static_cast<std::size_t>(plain.data() + plain.size() - at);
    const std::size_t sealed = tls.stream.seal(plain, at, room);
    if (sealed == 0) {
        return false;
    }
    tls.spoiled = true;  // until they are sent
    tls.sealed += sealed;
    tls.plain_done += plain.size();
    if (tls.plain_done < request.bytes.size()) {
        return true;
    }
    (tls.late ? sealing_late_ : sealing_).remove(lane);
    tls.ready = true;
    request.bytes = {request.storage, tls.sealed};
    request.armed = now;
    if (tls.late && tls.row.tries > 0) {
        // It is in flight already: rows before it may wait for its end.
        ready_late_.push_front(lane);
    } else if (tls.late) {
        ready_late_.push_back(lane);
    }
    return true;
}

void BoundLanes::now_late(Lane& lane, const DueRow& row) {
    LaneTls& tls = *lane.tls;
    CHECK(lane.state == LaneState::bound && !tls.ready && !tls.late);
    tls.row.request.due = row.request.due;
    tls.row.cause = row.cause;
    tls.row.held_ns = row.held_ns;
    tls.row.taken = row.taken;
    tls.late = true;
    ++late_count_;
    sealing_.remove(lane);
    sealing_late_.push_back(lane);
}

}  // namespace driftless
