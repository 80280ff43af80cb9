#include "engine/stats/run_description.hpp"

namespace driftless {

namespace {

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& text : texts) {
        json.string(text);
    }
    json.end_array();
}

}  // namespace

void write_run(JsonWriter& json, const RunDescription& run) {
    const auto text = [&json](std::string_view key, const std::string& value) {
        json.key(key);
        value.empty() ? json.null() : json.string(value);
    };
    json.key("run").begin_object();
    write_texts(json, "urls", run.urls);
    write_texts(json, "trace_paths", run.trace_paths);
    json.key("trace_rows").unsigned_integer(run.trace_rows);
    json.key("trace_dependencies").unsigned_integer(run.trace_dependencies);
    text("trace_digest", run.trace_digest);
    json.key("rows").unsigned_integer(run.rows);
    json.key("speed").string(run.speed);
    json.key("start_ns").optional_integer(run.start_ns);
    json.key("end_ns").optional_integer(run.end_ns);
    json.key("duration_ns").optional_integer(run.duration_ns);
    json.key("limit");
    run.limit ? json.unsigned_integer(*run.limit) : json.null();
    json.key("last_due_ns").integer(run.last_due_ns);
    text("schedule_digest", run.schedule_digest);
    text("rate", run.rate);
    text("arrivals", run.arrivals);
    text("arriving", run.arriving);
    json.key("planned_rate");
    run.planned_rate ? json.number(*run.planned_rate) : json.null();
    json.key("sessions").string(run.sessions);
    json.key("users");
    run.users > 0 ? json.unsigned_integer(run.users) : json.null();
    json.key("for_ns").optional_integer(run.for_ns);
    json.key("spread").boolean(run.spread);
    json.key("seed").unsigned_integer(run.seed);
    json.key("cache_salt");
    run.cache_salt.empty() ? json.null() : json.string(run.cache_salt);
    json.key("prompt").string(run.prompt);
    json.key("output").string(run.output);
    write_texts(json, "arguments", run.arguments);
    json.end_object();
}

}  // namespace driftless
