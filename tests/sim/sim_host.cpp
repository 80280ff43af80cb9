// The host under a simulated process: it sets its clock, stops the process, sleeps.

#include <utility>

#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr std::int64_t pause_ns = 2'000'000'000;
constexpr std::int64_t clock_step_ns = 1'000'000'000;
constexpr std::int64_t sleep_ns = 5'000'000'000;
}  // namespace

void SimDriver::let_host_act() {
    if (chance(weather_.step_clock)) {
        realtime_ahead_ns_ += up_to(2 * clock_step_ns).ns - clock_step_ns;
    }
    if (chance(weather_.pause)) {
        stand_still(up_to(pause_ns));
    }
    if (weather_.suspend > 0 && chance(weather_.suspend)) {
        suspend(up_to(sleep_ns));
    }
}

// The kernel does nothing for a process that does not enter it: what came meanwhile is not visible.
void SimDriver::stand_still(Duration length) {
    if (length.ns > 0) {
        hidden_from_ = shown();
        happen_until(now_ + length);
        stood_until_ = now_;
        stood_ = stood_ + length;
    }
}

// Our clock stands still, the time of day goes on, and what was on its way to us comes meanwhile:
// by our clock it came before we fell asleep. Servers wait for us; they need none of the time.
void SimDriver::suspend(Duration length) {
    suspended_ns_ += length.ns;
    realtime_ahead_ns_ += length.ns;
    auto before = std::exchange(happenings_, {});
    while (!before.empty()) {
        auto node = before.extract(before.begin());
        if (node.mapped().kind == Happening::Kind::to_client) {
            node.key().first -= length.ns;
        }
        happenings_.insert(std::move(node));
    }
    stood_until_ = now_;
    if (on_sleep_) {
        on_sleep_(now_, length);
    }
}

}  // namespace driftless::sim
