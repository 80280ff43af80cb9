#include "engine/replay/health.hpp"

#include "proto/core/errors.hpp"

namespace driftless {

// Shares of shorter samples would say nothing.
static constexpr Duration sample_min = milliseconds(500);

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
    while (second_ends_ - now < sample_min) {  // a stop: its seconds get no samples
        second_ends_ = second_ends_ + seconds(1);
    }
    return taken;
}

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
