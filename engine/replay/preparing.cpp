#include "engine/replay/preparing.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

// A slice of prompt building: 4,096 tokens are 16 KiB of text, below 20 us.
constexpr std::uint32_t arm_tokens = 4096;
// TLS: a request becomes records, and has its lane, this long before it is due. The largest take 2
// ms of arithmetic; an idle connection should not be tied up for longer than this needs.
constexpr Duration bind_ahead = milliseconds(250);
// A step of a handshake has taken up to 1.2 ms (timing-and-io.md, D). One that has found no gap of
// that length for so long goes before what is due.
constexpr Duration handshake_step_min = milliseconds(1);
constexpr Duration handshake_patience = milliseconds(50);

}  // namespace

// From time 0; before the first row is due, its instant. A run that is resumed begins far from 0.
std::int64_t Preparing::place_in_run_ns(Instant now) const {
    const std::int64_t first = schedule_.first_due_ns();
    return zero_ == never ? first : std::max((now - zero_).ns, first);
}

bool Preparing::slice(Instant now, Instant due, Duration guard) {
    CHECK(now <= due);
    return seal_slice(now) || arm_slice(now) || open_lane(now) ||
           supply_.age_slice(now, due - now) || handshake_slice(now, due, guard);
}

bool Preparing::arm_slice(Instant now) {
    const std::int64_t horizon_ns =
        settings_.arm_all ? INT64_MAX : place_in_run_ns(now) + settings_.arm_ahead.ns;
    CHECK(settings_.arm_all || horizon_ns > 0);
    return armer_.step(now, horizon_ns, arm_tokens);
}

// One record of a request, or a lane for the next one.
bool Preparing::seal_slice(Instant now) {
    return pacer_.bind_ahead(place_in_run_ns(now) + bind_ahead.ns) || lanes_.pool.seal_slice();
}

bool Preparing::open_lane(Instant now) {
    if (stopped_) {
        return false;
    }
    pacer_.ahead().look_ahead_a_second(zero_ == never ? schedule_.first_due_ns()
                                                      : (now - zero_).ns);
    return !pacer_.awaits_lane() && supply_.open_one(now);
}

bool Preparing::handshake_slice(Instant now, Instant due, Duration guard) {
    const Instant wanted = lanes_.connecting.handshake_wanted();
    if (wanted == never) {
        return false;
    }
    const Duration step{std::max(handshake_steps_.value() * 6 / 5, handshake_step_min.ns)};
    if (due - now <= guard + step && now - wanted < handshake_patience) {
        return false;
    }
    (void)lanes_.connecting.handshake_slice();
    handshake_steps_.add((driver_.now() - now).ns);
    return true;
}

}  // namespace driftless
