// What the kernel had to send again of a request. The count is read when the connection stands, and
// at the end of each exchange, with the rest of its end.

#include "engine/replay/lanes.hpp"

namespace driftless {

// SYNs and handshakes are of no request.
void LanePool::begin_resends(Lane& lane) {
    const std::optional<ResendCounts> counted = loop_.driver().resent(lane.socket);
    if (counted) {
        lane.resent.emplace(*counted);
    }
}

// All that we send is the request, so that what was sent again since its base is of this one. Where
// a server says no such things (no SACK), rows that were in time are tainted, too. Where the
// network makes copies, a loss may be excused until the first copy shows itself. A row that gives
// up before the kernel sends again, after 200 ms at least, may have been lost all the same.
void LanePool::take_resends(Lane& lane) {
    if (!lane.resent) {
        return;
    }
    const std::optional<ResendCounts> counted = loop_.driver().resent(lane.socket);
    if (!counted) {
        return;
    }
    const ResendMeter::Spent spent = lane.resent->take(*counted);
    Resends& resends = lane.exchange.resends;
    resends.known = true;
    resends.segments += spent.segments;
    copies_seen_ = copies_seen_ || spent.copied;
    const bool gave_up = !lane.exchange.heard && lane.unsent() == 0 && counted->open > 0;
    resends.lost = resends.lost || spent.lost || gave_up || (copies_seen_ && spent.segments > 0);
}

}  // namespace driftless
