// What a run tells once a second: its own figures, its parts' and the kernel's.
#include "engine/replay/run.hpp"

namespace driftless {

void Run::tell_second(Instant now) {
    ClientSample sample = health_.take(now);
    ReceiveCounts& received = lanes_.receive_counts();
    LaneCounts& counts = lanes_.counts();
    sample.receives = received.receives;
    sample.bytes_received = received.bytes;
    sample.chunks = received.chunks;
    sample.coalesced_chunks = received.coalesced_chunks;
    sample.ring_dropped_payloads = received.dropped_payloads;
    sample.ring_dropped_entries = received.dropped_entries;
    tell_stamps(sample);
    tell_use(sample);
    received = ReceiveCounts{};
    sample.rows_ended = counts.rows_ended;
    sample.bytes_sent = counts.bytes_sent;
    sample.slow_connects = counts.slow_connects;
    counts.rows_ended = 0;
    counts.slow_connects = 0;
    counts.bytes_sent = 0;
    sample.inflight = lanes_.inflight();
    sample.lanes_open = lanes_.in_use();
    sample.lanes_idle = lanes_.idle_count();
    const DriverCounters& driver = driver_.counters();
    sample.completions = static_cast<std::int64_t>(driver.completions - told_.completions);
    sample.system_calls = static_cast<std::int64_t>(driver.enters - told_.enters);
    sample.operations = static_cast<std::int64_t>(driver.submits - told_.submits);
    sample.no_buffers = static_cast<std::int64_t>(driver.no_buffers - told_.no_buffers);
    sample.overflows = static_cast<std::int64_t>(driver.overflows - told_.overflows);
    told_ = driver;
    sample.ring_high_bytes = static_cast<std::int64_t>(parts_.ring.high_bytes());
    sample.armed_bytes = static_cast<std::int64_t>(parts_.bodies.used_bytes());
    Event event;
    event.kind = EventKind::sample;
    event.stamp_ns = now.ns;
    (void)parts_.ring.push(event, {reinterpret_cast<const char*>(&sample), sizeof(sample)});
}

void Run::tell_stamps(ClientSample& sample) {
    const ReceiveCounts& received = lanes_.receive_counts();
    LaneCounts& counts = lanes_.counts();
    const auto since = [&](std::uint64_t LaneCounts::* count) {
        return static_cast<std::int64_t>(counts.*count - stamps_told_.*count);
    };
    sample.wire_stamps = since(&LaneCounts::wire_stamps);
    sample.wire_missing = since(&LaneCounts::wire_missing);
    sample.stamps_refused = since(&LaneCounts::stamps_refused) + received.stamps_refused;
    sample.wire_delay_sum_ns = counts.wire_delay_sum_ns;
    sample.wire_delay_max_ns = counts.wire_delay_max_ns;
    counts.wire_delay_sum_ns = 0;
    counts.wire_delay_max_ns = 0;
    stamps_told_ = counts;
    sample.receive_stamps = received.delays;
    sample.receive_delay_sum_ns = received.delay_sum_ns;
    sample.receive_delay_max_ns = received.delay_max_ns;
    sample.clock_offset_ns = clock_.offset_ns;
    sample.clock_error_ns = clock_.error_ns;
    sample.clock_steps = static_cast<std::int64_t>(clock_.steps);
}

void Run::tell_use(ClientSample& sample) {
    if (parts_.meter == nullptr) {
        return;
    }
    const ThreadUse now = parts_.meter->read();
    const ThreadUse use = now - use_told_;
    use_told_ = now;
    sample.user_ns = use.user_ns;
    sample.system_ns = use.system_ns;
    sample.instructions = use.instructions;
    sample.voluntary_switches = use.voluntary_switches;
    sample.involuntary_switches = use.involuntary_switches;
    sample.minor_faults = use.minor_faults;
    sample.major_faults = use.major_faults;
}

}  // namespace driftless
