// What is prepared between two rows: prompts, records of TLS, handshakes, connections, the clock.

#include <algorithm>

#include "engine/replay/run.hpp"
#include "engine/replay/run_limits.hpp"

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
// Lanes kept ready ahead of need, at most.
constexpr std::uint32_t idle_max = 1024;

}  // namespace

// From time 0; before the first row is due, its instant. A run that is resumed begins far from 0.
std::int64_t Run::place_in_run_ns(Instant now) const {
    const std::int64_t first = parts_.schedule.first_due_ns();
    return zero_ == never ? first : std::max((now - zero_).ns, first);
}

std::int64_t Run::arm_horizon_ns(Instant now) const {
    return settings_.arm_all ? INT64_MAX : place_in_run_ns(now) + settings_.arm_ahead.ns;
}

std::uint32_t Run::lanes_wanted(std::uint32_t target) const {
    const auto targets = static_cast<std::uint32_t>(parts_.targets.size());
    if (settings_.connections_fixed > 0) {
        return (settings_.connections_fixed + targets - 1) / targets;
    }
    std::uint64_t all = 0;
    for (std::uint32_t number = 0; number < targets; ++number) {
        all += pacer_.connections_wanted(number);
    }
    const std::uint64_t wanted = pacer_.connections_wanted(target);
    return static_cast<std::uint32_t>(all <= idle_max ? wanted : wanted * idle_max / all);
}

bool Run::sample_clock(Instant now) {
    if (now < clock_due_) {
        return false;
    }
    clock_ = driver_.sample_clock();
    clock_due_ = now + clock_period;
    return true;
}

bool Run::arm_slice(Instant now) {
    return parts_.armer.step(now, arm_horizon_ns(now), arm_tokens);
}

// One record of a request, or a lane for the next one.
bool Run::seal_slice(Instant now) {
    return pacer_.bind_ahead(place_in_run_ns(now) + bind_ahead.ns) || lanes_.seal_slice();
}

bool Run::handshake_slice(Instant now, Instant due) {
    const Instant wanted = lanes_.handshake_wanted();
    if (wanted == never) {
        return false;
    }
    const Duration step{std::max(handshake_steps_.value() * 6 / 5, handshake_step_min.ns)};
    if (due - now <= guard_ + step && now - wanted < handshake_patience) {
        return false;
    }
    (void)lanes_.handshake_slice();
    handshake_steps_.add((driver_.now() - now).ns);
    return true;
}

// At most one slice: a part of a prompt, one record, one connect, or a step of a handshake.
bool Run::prepare(Instant now, Instant due) {
    if (zero_ != never && health_.second_over(now)) {
        tell_second(now);
        return true;
    }
    return sample_clock(now) || seal_slice(now) || arm_slice(now) || open_lane(now) ||
           lanes_.age_slice(now, due - now) || handshake_slice(now, due);
}

bool Run::open_lane(Instant now) {
    if (stopping_ || closing_) {
        return false;
    }
    pacer_.look_ahead_a_second(now);
    for (std::uint32_t number = 0; number < lanes_.targets().size(); ++number) {
        LaneTarget& target = lanes_.targets()[number];
        target.wanted = lanes_wanted(number);
        const std::uint32_t there = lanes_.in_stock(number) + target.connecting;
        if (there < target.wanted && now >= target.quiet_until && lanes_.open_one(number)) {
            return true;
        }
    }
    return false;
}

}  // namespace driftless
