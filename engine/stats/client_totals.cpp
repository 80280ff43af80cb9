#include "engine/stats/client_totals.hpp"

#include <algorithm>

namespace driftless {

namespace {

// Shares of shorter stretches, at the very end of a run, say nothing.
constexpr std::int64_t stretch_min_ns = 200'000'000;

std::int64_t known(std::int64_t value) {
    return std::max<std::int64_t>(value, 0);  // -1: not measured
}

}  // namespace

void ClientTotals::add(const ClientSample& s) {
    ++seconds;
    chunks += s.chunks;
    dropped_payloads += s.ring_dropped_payloads;
    dropped_entries += s.ring_dropped_entries;
    no_buffers += s.no_buffers;
    overflows += s.overflows;
    late_arms += s.late_arms;
    missing_lanes += s.missing_lanes;
    slow_connects += s.slow_connects;
    spin_gaps += s.spin_gaps;
    spin_gap_max_ns = std::max(spin_gap_max_ns, s.spin_gap_max_ns);
    turn_max_ns = std::max(turn_max_ns, s.turn_max_ns);
    run_delay_ns += known(s.run_delay_ns);
    steal_ns += known(s.steal_ns);
    involuntary_switches += known(s.involuntary_switches);
    major_faults += known(s.major_faults);
    const std::int64_t span = s.to_ns - s.from_ns;
    if (span < stretch_min_ns) {
        return;
    }
    const auto share = [span](std::int64_t part) {
        return static_cast<double>(part) / static_cast<double>(span);
    };
    BusySecond second;
    second.from_ns = s.from_ns;
    second.busy = share(s.busy_fire_ns + s.busy_receive_ns + s.busy_prepare_ns + s.busy_stamps_ns);
    second.taken = share(known(s.run_delay_ns) + known(s.steal_ns));
    second.chunks = s.chunks * 1'000'000'000 / span;
    taken_max = std::max(taken_max, second.taken);
    chunks_per_s_max = std::max(chunks_per_s_max, second.chunks);
    if (second.busy >= busiest.busy) {
        busiest = second;
    }
}

}  // namespace driftless
