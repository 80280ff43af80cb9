#include "proto/figures/client_totals.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/check.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

// Shares of shorter stretches, at the very end of a run, say nothing.
constexpr std::int64_t stretch_min_ns = 200'000'000;

struct Sum {
    std::int64_t ClientTotals::* total;
    std::int64_t ClientSample::* part;
};
constexpr Sum sums[] = {
    {&ClientTotals::rows_fired, &ClientSample::rows_fired},
    {&ClientTotals::receives, &ClientSample::receives},
    {&ClientTotals::chunks, &ClientSample::chunks},
    {&ClientTotals::bytes_sent, &ClientSample::bytes_sent},
    {&ClientTotals::bytes_received, &ClientSample::bytes_received},
    {&ClientTotals::busy_fire_ns, &ClientSample::busy_fire_ns},
    {&ClientTotals::busy_receive_ns, &ClientSample::busy_receive_ns},
    {&ClientTotals::busy_prepare_ns, &ClientSample::busy_prepare_ns},
    {&ClientTotals::busy_stamps_ns, &ClientSample::busy_stamps_ns},
    {&ClientTotals::slept_ns, &ClientSample::slept_ns},
    {&ClientTotals::loop_turns, &ClientSample::loop_turns},
    {&ClientTotals::wakes, &ClientSample::wakes},
    {&ClientTotals::wake_error_sum_ns, &ClientSample::wake_error_sum_ns},
    {&ClientTotals::user_ns, &ClientSample::user_ns},
    {&ClientTotals::system_ns, &ClientSample::system_ns},
    {&ClientTotals::instructions, &ClientSample::instructions},
    {&ClientTotals::system_calls, &ClientSample::system_calls},
    {&ClientTotals::operations, &ClientSample::operations},
    {&ClientTotals::no_buffers, &ClientSample::no_buffers},
    {&ClientTotals::overflows, &ClientSample::overflows},
    {&ClientTotals::dropped_payloads, &ClientSample::ring_dropped_payloads},
    {&ClientTotals::dropped_entries, &ClientSample::ring_dropped_entries},
    {&ClientTotals::late_arms, &ClientSample::late_arms},
    {&ClientTotals::missing_lanes, &ClientSample::missing_lanes},
    {&ClientTotals::slow_connects, &ClientSample::slow_connects},
    {&ClientTotals::spin_gaps, &ClientSample::spin_gaps},
    {&ClientTotals::run_delay_ns, &ClientSample::run_delay_ns},
    {&ClientTotals::steal_ns, &ClientSample::steal_ns},
    {&ClientTotals::involuntary_switches, &ClientSample::involuntary_switches},
    {&ClientTotals::voluntary_switches, &ClientSample::voluntary_switches},
    {&ClientTotals::minor_faults, &ClientSample::minor_faults},
    {&ClientTotals::major_faults, &ClientSample::major_faults},
    {&ClientTotals::writer_chunks, &ClientSample::writer_chunks},
    {&ClientTotals::writer_cpu_ns, &ClientSample::writer_cpu_ns},
    {&ClientTotals::writer_run_delay_ns, &ClientSample::writer_run_delay_ns},
};

std::int64_t known(std::int64_t value) {
    return std::max<std::int64_t>(value, 0);  // -1: not measured
}

}  // namespace

EngineTotals& ClientTotals::engine_of(const ClientSample& sample) {
    const auto number =
        static_cast<std::size_t>(std::clamp<std::int64_t>(sample.engine, 0, engines_max - 1));
    engines.resize(std::max(engines.size(), number + 1));
    return engines[number];
}

/// Where it slept for most of a second, its naps are most of its CPU time.
void ClientTotals::add_writer(const ClientSample& s, std::int64_t length_ns) {
    constexpr std::int64_t part_min = 10;
    if (s.writer_chunks < 0 || s.writer_cpu_ns <= 0) {
        return;
    }
    const std::int64_t left_ns =
        std::max(length_ns - known(s.writer_run_delay_ns), s.writer_cpu_ns);  // it may lag behind
    const double busy = static_cast<double>(s.writer_cpu_ns) / static_cast<double>(left_ns);
    writer_busy_max = std::max(writer_busy_max, busy);
    if (s.writer_cpu_ns >= length_ns / part_min) {
        const double cpu_s = static_cast<double>(s.writer_cpu_ns) / 1e9;
        writer_chunks_per_cpu_s = std::max<std::int64_t>(
            writer_chunks_per_cpu_s, std::llround(static_cast<double>(s.writer_chunks) / cpu_s));
    }
}

void ClientTotals::add(const ClientSample& s) {
    ++seconds;
    for (const Sum& sum : sums) {
        const std::int64_t part = s.*sum.part;
        std::int64_t& total = this->*sum.total;
        total = part < 0 ? total : known(total) + part;
    }
    spin_gap_max_ns = std::max(spin_gap_max_ns, s.spin_gap_max_ns);
    turn_max_ns = std::max(turn_max_ns, s.turn_max_ns);
    wake_error_max_ns = std::max(wake_error_max_ns, s.wake_error_max_ns);
    const std::int64_t span = s.to_ns - s.from_ns;
    // A wait counts when it ends, also one that began before this second.
    const std::int64_t taken_ns = std::min(known(s.run_delay_ns) + known(s.steal_ns), span);
    const std::int64_t stopped_ns = s.turn_max_ns > stop_min_ns ? s.turn_max_ns : 0;
    each.push_back({s.from_ns, s.to_ns, taken_ns,
                    std::max({s.spin_gap_max_ns, s.wake_error_max_ns, stopped_ns}),
                    s.receive_delay_max_ns, s.slow_connects, s.engine});
    CHECK(each.size() == static_cast<std::size_t>(seconds));
    EngineTotals& engine = engine_of(s);
    engine.rows_fired += s.rows_fired;
    engine.drift_sum_ns += s.drift_sum_ns;
    engine.drift_max_ns = std::max(engine.drift_max_ns, s.drift_max_ns);
    span_ns += span;
    if (span < stretch_min_ns) {
        return;
    }
    const auto share = [span](std::int64_t part) {
        return static_cast<double>(part) / static_cast<double>(span);
    };
    add_writer(s, span);
    BusySecond second;
    second.from_ns = s.from_ns;
    second.engine = s.engine;
    second.busy = share(s.busy_fire_ns + s.busy_receive_ns + s.busy_prepare_ns + s.busy_stamps_ns);
    second.taken = std::min(share(taken_ns), 1.0);
    second.load = second.busy <= 0 ? 0 : second.taken >= 1 ? 1 : second.busy / (1 - second.taken);
    second.chunks = s.chunks * 1'000'000'000 / span;
    taken_max = std::max(taken_max, second.taken);
    chunks_per_s_max = std::max(chunks_per_s_max, second.chunks);
    busy_max = std::max(busy_max, second.busy);
    engine.busy_max = std::max(engine.busy_max, second.busy);
    engine.taken_max = std::max(engine.taken_max, second.taken);
    if (second.load >= busiest.load) {
        busiest = second;
    }
}

namespace {

struct Field {
    const char* name;
    std::int64_t ClientTotals::* value;
};

#define FIELD(name) {#name, &ClientTotals::name}
constexpr Field totals_fields[] = {
    FIELD(span_ns),
    FIELD(rows_fired),
    FIELD(receives),
    FIELD(chunks),
    FIELD(chunks_per_s_max),
    FIELD(bytes_sent),
    FIELD(bytes_received),
    FIELD(busy_fire_ns),
    FIELD(busy_receive_ns),
    FIELD(busy_prepare_ns),
    FIELD(busy_stamps_ns),
    FIELD(slept_ns),
    FIELD(loop_turns),
    FIELD(turn_max_ns),
    FIELD(wakes),
    FIELD(wake_error_max_ns),
    FIELD(wake_error_sum_ns),
    FIELD(user_ns),
    FIELD(system_ns),
    FIELD(instructions),
    FIELD(system_calls),
    FIELD(operations),
    FIELD(no_buffers),
    FIELD(overflows),
    FIELD(dropped_payloads),
    FIELD(dropped_entries),
    FIELD(late_arms),
    FIELD(missing_lanes),
    FIELD(slow_connects),
    FIELD(spin_gaps),
    FIELD(spin_gap_max_ns),
    FIELD(run_delay_ns),
    FIELD(steal_ns),
    FIELD(involuntary_switches),
    FIELD(voluntary_switches),
    FIELD(minor_faults),
    FIELD(major_faults),
    FIELD(writer_chunks),
    FIELD(writer_cpu_ns),
    FIELD(writer_run_delay_ns),
    FIELD(writer_chunks_per_cpu_s),
};
constexpr Field of_request[] = {
    FIELD(busy_fire_ns), FIELD(busy_prepare_ns), FIELD(user_ns),    FIELD(system_ns),
    FIELD(instructions), FIELD(system_calls),    FIELD(bytes_sent),
};
constexpr Field of_chunk[] = {
    FIELD(busy_receive_ns), FIELD(user_ns),      FIELD(system_ns),
    FIELD(instructions),    FIELD(system_calls), FIELD(bytes_received),
};
#undef FIELD

template <std::size_t count>
void write_each(JsonWriter& json, const char* key, const ClientTotals& totals,
                const Field (&fields)[count], std::int64_t number) {
    json.key(key).begin_object();
    for (const Field& field : fields) {
        const std::int64_t value = totals.*field.value;
        json.key(field.name);
        value < 0 || number <= 0
            ? json.null()
            : json.number(static_cast<double>(value) / static_cast<double>(number));
    }
    json.end_object();
}

void write_engines(JsonWriter& json, const std::vector<EngineTotals>& engines) {
    json.key("engines").begin_array();
    for (const EngineTotals& engine : engines) {
        json.begin_object();
        json.key("rows_fired").integer(engine.rows_fired);
        json.key("drift_mean_ns");
        engine.rows_fired > 0 ? json.number(static_cast<double>(engine.drift_sum_ns) /
                                            static_cast<double>(engine.rows_fired))
                              : json.null();
        json.key("drift_max_ns").integer(engine.drift_max_ns);
        json.key("busy_share_max").number(engine.busy_max);
        json.key("taken_share_max").number(engine.taken_max);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void write_client(JsonWriter& json, const ClientTotals* totals) {
    json.key("client");
    if (totals == nullptr) {
        json.null();
        return;
    }
    json.begin_object();
    write_engines(json, totals->engines);
    json.key("seconds").unsigned_integer(totals->seconds);
    json.key("busy_share_max").number(totals->busy_max);
    json.key("taken_share_max").number(totals->taken_max);
    json.key("writer_busy_share_max");
    totals->writer_busy_max < 0 ? json.null() : json.number(totals->writer_busy_max);
    for (const Field& field : totals_fields) {
        const std::int64_t value = totals->*field.value;
        json.key(field.name);
        value < 0 ? json.null() : json.integer(value);
    }
    write_each(json, "per_request", *totals, of_request, totals->rows_fired);
    write_each(json, "per_chunk", *totals, of_chunk, totals->chunks);
    json.end_object();
}

}  // namespace driftless
