#include "proto/run/client_sample.hpp"

#include <array>

#include "proto/json/members.hpp"

namespace driftless {

namespace {

struct Field {
    const char* key;
    std::int64_t ClientSample::* value;
    int since = 1;
};

}  // namespace

template <typename... More>
static constexpr std::array<Field, sizeof...(More)> list_of(More... fields) {
    return {fields...};
}

namespace {

#define FIELD(name, ...) (Field{#name, &ClientSample::name __VA_OPT__(, ) __VA_ARGS__})
static constexpr auto client_fields = list_of(
    FIELD(from_ns), FIELD(to_ns), FIELD(engine, 15), FIELD(rows_fired), FIELD(rows_ended),
    FIELD(inflight), FIELD(lanes_open), FIELD(lanes_idle), FIELD(drift_max_ns), FIELD(drift_sum_ns),
    FIELD(submit_max_ns), FIELD(submit_sum_ns), FIELD(wire_stamps), FIELD(wire_delay_max_ns),
    FIELD(wire_delay_sum_ns), FIELD(wire_missing), FIELD(stamps_refused), FIELD(receive_stamps),
    FIELD(receive_delay_max_ns), FIELD(receive_delay_sum_ns), FIELD(clock_offset_ns),
    FIELD(clock_error_ns), FIELD(clock_steps), FIELD(loop_turns), FIELD(turn_max_ns),
    FIELD(busy_fire_ns), FIELD(busy_receive_ns), FIELD(busy_prepare_ns), FIELD(busy_stamps_ns),
    FIELD(slept_ns), FIELD(wakes), FIELD(wake_error_max_ns), FIELD(wake_error_sum_ns),
    FIELD(user_ns), FIELD(system_ns), FIELD(instructions), FIELD(system_calls), FIELD(operations),
    FIELD(completions), FIELD(receives), FIELD(bytes_received), FIELD(bytes_sent), FIELD(chunks),
    FIELD(coalesced_chunks), FIELD(no_buffers), FIELD(overflows), FIELD(ring_dropped_payloads),
    FIELD(ring_dropped_entries), FIELD(ring_high_bytes), FIELD(late_arms), FIELD(missing_lanes),
    FIELD(slow_connects), FIELD(armed_bytes), FIELD(spin_gaps), FIELD(spin_gap_max_ns),
    FIELD(run_delay_ns), FIELD(involuntary_switches), FIELD(voluntary_switches),
    FIELD(minor_faults), FIELD(major_faults), FIELD(steal_ns), FIELD(writer_chunks, 16),
    FIELD(writer_cpu_ns, 16), FIELD(writer_run_delay_ns, 16));
#undef FIELD
// A field that is added is listed above.
static_assert(client_fields.size() == sizeof(ClientSample) / sizeof(std::int64_t));

}  // namespace

static constexpr std::size_t instants = 2;  ///< the first fields: any number is one

static void walk(JsonMembers& fields, ClientSample& sample) {
    for (const Field& field : client_fields) {
        std::optional<std::int64_t> known;
        fields.value(field.key, field.since, known);
        const std::int64_t unknown = field.since < JsonMembers::later ? -1 : sample.*field.value;
        sample.*field.value = known.value_or(unknown);
    }
}

void append_client_sample(std::string& out, const ClientSample& sample, std::int64_t time_zero_ns) {
    JsonWriter json(out);
    json.begin_object();
    for (const Field& field : client_fields) {
        const bool is_instant = &field < &client_fields[instants];
        const std::int64_t value = sample.*field.value - (is_instant ? time_zero_ns : 0);
        json.key(field.key);
        value < 0 && !is_instant ? json.null() : json.integer(value);
    }
    json.end_object();
    out += '\n';
}

Result<ClientSample> read_client_sample(JsonDocument& document, std::string_view line) {
    return read_json_line<ClientSample>(document, line, "read a second of the client");
}

}  // namespace driftless
