#include "engine/replay/sampler.hpp"

#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

void Sampler::begin() {
    use_before_ = meter_ != nullptr ? meter_->read() : ThreadUse{};
    driver_before_ = driver_.counters();
}

void Sampler::report(Instant now, const ClockSample& clock) {
    ClientSample sample = health_.take(now);
    CHECK(lanes_.shelf.count() <= lanes_.pool.in_use());
    ReceiveCounts& received = lanes_.exchanges.receive_counts();
    LaneCounts& counts = lanes_.parts.counts;
    sample.receives = received.receives;
    sample.bytes_received = received.bytes;
    sample.chunks = received.chunks;
    sample.coalesced_chunks = received.coalesced_chunks;
    sample.ring_dropped_payloads = received.dropped_payloads;
    sample.ring_dropped_entries = received.dropped_entries;
    report_stamps(sample, clock);
    report_use(sample);
    received = ReceiveCounts{};
    sample.rows_ended = std::exchange(counts.rows_ended, 0);
    sample.bytes_sent = std::exchange(counts.bytes_sent, 0);
    sample.slow_connects = std::exchange(counts.slow_connects, 0);
    sample.inflight = lanes_.in_flight.count();
    sample.lanes_open = lanes_.pool.in_use();
    sample.lanes_idle = lanes_.shelf.count();
    const DriverCounters& driver = driver_.counters();
    const auto since = [&](auto DriverCounters::* count) {
        return static_cast<std::int64_t>(driver.*count - driver_before_.*count);
    };
    sample.completions = since(&DriverCounters::completions);
    sample.system_calls = since(&DriverCounters::enters);
    sample.operations = since(&DriverCounters::submits);
    sample.no_buffers = since(&DriverCounters::no_buffers);
    sample.overflows = since(&DriverCounters::overflows);
    driver_before_ = driver;
    sample.ring_high_bytes = static_cast<std::int64_t>(ring_.high_bytes());
    sample.armed_bytes = static_cast<std::int64_t>(bodies_.used_bytes());
    Event event;
    event.kind = EventKind::sample;
    event.stamp_ns = now.ns;
    (void)ring_.push(event, {reinterpret_cast<const char*>(&sample), sizeof(sample)});
}

void Sampler::report_stamps(ClientSample& sample, const ClockSample& clock) {
    const ReceiveCounts& received = lanes_.exchanges.receive_counts();
    LaneCounts& counts = lanes_.parts.counts;
    const auto since = [&](std::uint64_t LaneCounts::* count) {
        return static_cast<std::int64_t>(counts.*count - lanes_before_.*count);
    };
    sample.wire_stamps = since(&LaneCounts::wire_stamps);
    sample.wire_missing = since(&LaneCounts::wire_missing);
    sample.stamps_refused = since(&LaneCounts::stamps_refused) + received.stamps_refused;
    sample.wire_delay_sum_ns = std::exchange(counts.wire_delay_sum_ns, 0);
    sample.wire_delay_max_ns = std::exchange(counts.wire_delay_max_ns, 0);
    lanes_before_ = counts;
    sample.receive_stamps = received.delays;
    sample.receive_delay_sum_ns = received.delay_sum_ns;
    sample.receive_delay_max_ns = received.delay_max_ns;
    sample.clock_offset_ns = clock.offset_ns;
    sample.clock_error_ns = clock.error_ns;
    sample.clock_steps = static_cast<std::int64_t>(clock.steps);
}

void Sampler::report_use(ClientSample& sample) {
    if (meter_ == nullptr) {
        return;
    }
    const ThreadUse now = meter_->read();
    const ThreadUse use = now - use_before_;
    use_before_ = now;
    sample.user_ns = use.user_ns;
    sample.system_ns = use.system_ns;
    sample.instructions = use.instructions;
    sample.voluntary_switches = use.voluntary_switches;
    sample.involuntary_switches = use.involuntary_switches;
    sample.minor_faults = use.minor_faults;
    sample.major_faults = use.major_faults;
}

}  // namespace driftless
