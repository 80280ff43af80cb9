#include "proto/run/client_sample.hpp"

#include "proto/json/write.hpp"

namespace driftless {

namespace {

struct Field {
    const char* name;
    std::int64_t ClientSample::* value;
};

#define FIELD(name) {#name, &ClientSample::name}
constexpr Field fields[] = {
    FIELD(rows_fired),
    FIELD(rows_ended),
    FIELD(inflight),
    FIELD(lanes_open),
    FIELD(lanes_idle),
    FIELD(drift_max_ns),
    FIELD(drift_sum_ns),
    FIELD(submit_max_ns),
    FIELD(submit_sum_ns),
    FIELD(wire_stamps),
    FIELD(wire_delay_max_ns),
    FIELD(wire_delay_sum_ns),
    FIELD(wire_missing),
    FIELD(stamps_refused),
    FIELD(receive_stamps),
    FIELD(receive_delay_max_ns),
    FIELD(receive_delay_sum_ns),
    FIELD(clock_offset_ns),
    FIELD(clock_error_ns),
    FIELD(clock_steps),
    FIELD(loop_turns),
    FIELD(turn_max_ns),
    FIELD(busy_fire_ns),
    FIELD(busy_receive_ns),
    FIELD(busy_prepare_ns),
    FIELD(busy_stamps_ns),
    FIELD(slept_ns),
    FIELD(wakes),
    FIELD(wake_error_max_ns),
    FIELD(wake_error_sum_ns),
    FIELD(user_ns),
    FIELD(system_ns),
    FIELD(instructions),
    FIELD(system_calls),
    FIELD(operations),
    FIELD(completions),
    FIELD(receives),
    FIELD(bytes_received),
    FIELD(bytes_sent),
    FIELD(chunks),
    FIELD(coalesced_chunks),
    FIELD(no_buffers),
    FIELD(overflows),
    FIELD(ring_dropped_payloads),
    FIELD(ring_dropped_entries),
    FIELD(ring_high_bytes),
    FIELD(late_arms),
    FIELD(missing_lanes),
    FIELD(slow_connects),
    FIELD(armed_bytes),
    FIELD(spin_gaps),
    FIELD(spin_gap_max_ns),
    FIELD(run_delay_ns),
    FIELD(involuntary_switches),
    FIELD(voluntary_switches),
    FIELD(minor_faults),
    FIELD(major_faults),
    FIELD(steal_ns),
    FIELD(writer_chunks),
    FIELD(writer_cpu_ns),
    FIELD(writer_run_delay_ns),
};
#undef FIELD
// Instants and engine are written apart; a field that is added is listed above.
static_assert(sizeof(fields) / sizeof(fields[0]) + 3 ==
              sizeof(ClientSample) / sizeof(std::int64_t));

}  // namespace

void append_client_sample(std::string& out, const ClientSample& sample, std::int64_t time_zero_ns) {
    JsonWriter json(out);
    json.begin_object();
    json.key("from_ns").integer(sample.from_ns - time_zero_ns);
    json.key("to_ns").integer(sample.to_ns - time_zero_ns);
    json.key("engine").integer(sample.engine);
    for (const Field& field : fields) {
        const std::int64_t value = sample.*field.value;
        json.key(field.name);
        value < 0 ? json.null() : json.integer(value);
    }
    json.end_object();
    out += '\n';
}

Result<ClientSample> read_client_sample(JsonDocument& document, std::string_view line) {
    const Result<JsonValue> root = document.parse(line);
    if (!root) {
        return root.error();
    }
    ClientSample sample;
    const auto read = [&](const char* name, std::int64_t& out) {
        const JsonValue value = root.value().find(name);
        out = value.is(JsonType::null) ? -1 : value.as_i64().value_or(out);
        return value.is(JsonType::null) || value.as_i64().has_value();
    };
    for (const Field& field : fields) {  // before schema 16 the writer told nothing
        const bool may_miss = std::string_view(field.name).starts_with("writer_");
        if (!read(field.name, sample.*field.value) && !may_miss) {
            return Error{ErrorCode::missing, 0, field.name};
        }
    }
    if (!read("from_ns", sample.from_ns) || !read("to_ns", sample.to_ns)) {
        return Error{ErrorCode::missing, 0, "from_ns or to_ns"};
    }
    // Before schema 15 there was one engine, and no such key.
    sample.engine = root.value().find("engine").as_i64().value_or(0);
    return sample;
}

}  // namespace driftless
