// What the kernel had to send again of a request. The count is read outside every guard: when the
// connection stands, and at the end of each exchange, with the rest of its end.

#include "engine/replay/lanes.hpp"

namespace driftless {

// SYNs and handshakes are of no request.
void LanePool::begin_resends(Lane& lane) {
    lane.resent = loop_.driver().resent(lane.socket);
}

// All that we send is the request, so that what was sent again since the last end is of this one. A
// segment may have been sent in vain, because its acknowledgement came late. Nobody here can tell:
// the server says what it has twice (DSACK), but also where the network had made the copy, so that
// such words would excuse a loss.
void LanePool::take_resends(Lane& lane) {
    if (!lane.resent) {
        return;
    }
    const std::optional<std::uint32_t> segments = loop_.driver().resent(lane.socket);
    if (!segments) {
        return;
    }
    Resends& resends = lane.exchange.resends;
    resends.known = true;
    resends.segments += *segments - *lane.resent;
    lane.resent = segments;
}

}  // namespace driftless
