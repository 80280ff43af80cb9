// Turns that wait for the words of an answer, which come later than its end (`--assistant live`).
#include "engine/schedule/releases.hpp"
#include "proto/core/check.hpp"

namespace driftless {

bool Releases::replied(std::uint32_t request, std::int64_t at_ns, bool goes_on) {
    if (!turns_[request].awaits) {
        return false;
    }
    forget_words(request);
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t number = graph_.beside(request, edge.child);
        PendingTurn& child = turns_[number];
        if (!edge.words || child.state != TurnState::waiting) {  // it has fallen meanwhile
            continue;
        }
        if (!goes_on) {
            drop(number, request);
            continue;
        }
        CHECK(child.unfired > 0 && child.parents > 0);
        if (--child.unfired == 0) {
            want_armed(number);
        }
        if (--child.parents == 0) {
            make_known(number);
        }
    }
    spread(at_ns);
    return true;
}

void Releases::forget_words(std::uint32_t request) {
    awaited_ -= turns_[request].awaits ? 1 : 0;
    turns_[request].awaits = false;
}

}  // namespace driftless
