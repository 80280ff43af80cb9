#include "engine/replay/health.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {
// Shares of shorter samples would say nothing.
constexpr Duration sample_min = milliseconds(500);
}  // namespace

void Health::begin(Instant now) {
    sample_ = ClientSample{};
    sample_.from_ns = now.ns;
    second_ends_ = now + seconds(1);
}

void Health::note(Work work, Instant from, Instant to) {
    CHECK(from <= to);
    const std::int64_t span = (to - from).ns;
    const std::int64_t busy = std::min(span, stop_min_ns);  // the rest is a stop
    sample_.loop_turns += 1;
    switch (work) {
        case Work::fire:
            sample_.busy_fire_ns += busy;
            break;
        case Work::receive:
            sample_.busy_receive_ns += busy;
            break;
        case Work::stamps:
            sample_.busy_stamps_ns += busy;
            break;
        case Work::prepare:
            sample_.busy_prepare_ns += busy;
            break;
        case Work::sleep:
            sample_.slept_ns += span;
            return;
        case Work::spin:
            if (span > spin_gap_ns) {
                sample_.spin_gaps += 1;
                sample_.spin_gap_max_ns = std::max(sample_.spin_gap_max_ns, span);
            }
            return;
    }
    sample_.turn_max_ns = std::max(sample_.turn_max_ns, span);
}

void Health::note_fire(std::int64_t drift_ns, std::int64_t submit_ns) {
    CHECK(drift_ns >= 0 && submit_ns >= 0);
    sample_.rows_fired += 1;
    sample_.drift_max_ns = std::max(sample_.drift_max_ns, drift_ns);
    sample_.drift_sum_ns += drift_ns;
    sample_.submit_max_ns = std::max(sample_.submit_max_ns, submit_ns);
    sample_.submit_sum_ns += submit_ns;
}

void Health::note_wake(std::int64_t error_ns) {
    CHECK(error_ns > 0);
    sample_.wakes += 1;
    sample_.wake_error_max_ns = std::max(sample_.wake_error_max_ns, error_ns);
    sample_.wake_error_sum_ns += error_ns;
}

ClientSample Health::take(Instant now) {
    CHECK(now.ns >= sample_.from_ns);
    ClientSample taken = sample_;
    taken.to_ns = now.ns;
    sample_ = ClientSample{};
    sample_.from_ns = now.ns;
    while (second_ends_ - now < sample_min) {  // seconds in which nobody could tell are no samples
        second_ends_ = second_ends_ + seconds(1);
    }
    return taken;
}

}  // namespace driftless
