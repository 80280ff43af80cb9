#include "engine/stats/client_totals.hpp"
#include "proto/json/write.hpp"

namespace driftless {

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
