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
// network makes copies, a loss may be excused until the first copy shows itself.
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
    resends.lost = resends.lost || spent.lost || (copies_seen_ && spent.segments > 0);
}

}  // namespace driftless
