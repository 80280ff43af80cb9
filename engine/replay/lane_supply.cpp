#include "engine/replay/lane_supply.hpp"

#include <algorithm>
#include <optional>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

// At the limit on connections one has to close before its successor can open. That takes a gap
// between two rows: a round trip and the arithmetic of a handshake.
constexpr Duration replacement_gap = milliseconds(50);

}  // namespace

std::uint32_t LaneSupply::wanted(std::uint32_t target) const {
    const auto targets = static_cast<std::uint32_t>(lanes_.parts.targets.size());
    CHECK(target < targets);
    if (settings_.connections_fixed > 0) {
        return (settings_.connections_fixed + targets - 1) / targets;
    }
    std::uint64_t all = 0;
    std::uint64_t crowds = 0;
    for (std::uint32_t number = 0; number < targets; ++number) {
        all += ahead_.connections_wanted(number);
        crowds += ahead_.largest_crowd(number);
    }
    const std::uint64_t most = std::max<std::uint64_t>(idle_max, crowds);
    const std::uint64_t own = ahead_.connections_wanted(target);
    return static_cast<std::uint32_t>(all <= most ? own : own * most / all);
}

std::uint32_t LaneSupply::in_stock(std::uint32_t target) const {
    const LaneTarget& at = lanes_.parts.targets[target];
    const LaneShelf& shelf = lanes_.shelf;
    CHECK(at.open >= shelf.ageing(target));
    return settings_.connections_fixed > 0 ? at.open - shelf.ageing(target)
                                           : shelf.young(target) + at.bound;
}

// To the server that has the fewest, so that a limit on connections leaves none without.
bool LaneSupply::open_one(Instant now) {
    std::optional<std::uint32_t> poorest;
    std::uint32_t least = UINT32_MAX;
    for (std::uint32_t number = 0; number < lanes_.parts.targets.size(); ++number) {
        LaneTarget& target = lanes_.parts.targets[number];
        target.wanted = wanted(number);
        const std::uint32_t there = target.open + target.connecting;
        if (in_stock(number) + target.connecting < target.wanted && now >= target.quiet_until &&
            there < least) {
            poorest = number;
            least = there;
        }
    }
    return poorest && lanes_.pool.open_one(*poorest);
}

// The successors of ageing lanes come first; then these go, at the latest when they may not be used
// any more.
bool LaneSupply::age_slice(Instant now, Duration gap) {
    LaneShelf& shelf = lanes_.shelf;
    for (std::uint32_t number = 0; number < lanes_.parts.targets.size(); ++number) {
        if (shelf.age(number, now)) {
            return true;
        }
        const LaneTarget& target = lanes_.parts.targets[number];
        const bool replaced = in_stock(number) >= target.wanted;
        const bool in_the_way =
            lanes_.pool.full() && target.connecting == 0 && gap >= replacement_gap;
        Lane* over = shelf.over(number, now);
        if (over == nullptr && (replaced || in_the_way)) {
            over = shelf.oldest_ageing(number);
        }
        if (over != nullptr) {
            CHECK(over->state == LaneState::idle);
            lanes_.parts.counts.retired_idle += 1;
            lanes_.pool.close_idle(*over);
            return true;
        }
    }
    return false;
}

}  // namespace driftless
