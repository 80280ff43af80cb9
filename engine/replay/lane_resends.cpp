// What the kernel had to send again of a request. The count is read outside every guard: when the
// connection stands, and at the end of each exchange, with the rest of its end.

#include "engine/replay/lanes.hpp"

namespace driftless {

// SYNs and handshakes are of no request.
void LanePool::begin_resends(Lane& lane) {
    lane.resent = loop_.driver().resent(lane.socket);
}

// All that we send is the request, so that what was sent again since the last end is of this one.
// An acknowledgement that came late makes the kernel send in vain, too: then the server says that
// it has the bytes twice, and the request was in time. A server that says no such things (no SACK)
// taints more rows than were late, never fewer.
void LanePool::take_resends(Lane& lane) {
    if (!lane.resent) {
        return;
    }
    const std::optional<ResendCounts> counted = loop_.driver().resent(lane.socket);
    if (!counted) {
        return;
    }
    const std::uint32_t segments = counted->segments - lane.resent->segments;
    const std::uint32_t duplicates = counted->duplicates - lane.resent->duplicates;
    Resends& resends = lane.exchange.resends;
    resends.known = true;
    resends.segments += segments;
    resends.lost = resends.lost || segments > duplicates;
    lane.resent = counted;
}

}  // namespace driftless
