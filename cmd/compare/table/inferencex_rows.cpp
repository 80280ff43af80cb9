#include "cmd/compare/table/inferencex_rows.hpp"

#include <array>
#include <charconv>

#include "cmd/compare/table/run_keys.hpp"
#include "cmd/compare/table/run_views.hpp"
#include "engine/views/view.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

enum class Kind : std::uint8_t { text, integer, flag };
struct Provenance {
    const char* key;
    Kind kind;
};
/// In the order of their file, up to the number of requests.
constexpr std::array provenance{
    Provenance{"hw", Kind::text},
    Provenance{"conc", Kind::integer},
    Provenance{"image", Kind::text},
    Provenance{"model", Kind::text},
    Provenance{"infmax_model_prefix", Kind::text},
    Provenance{"framework", Kind::text},
    Provenance{"precision", Kind::text},
    Provenance{"spec_decoding", Kind::text},
    Provenance{"disagg", Kind::flag},
    Provenance{"scenario_type", Kind::text},
    Provenance{"is_multinode", Kind::flag},
    Provenance{"tp", Kind::integer},
    Provenance{"ep", Kind::integer},
    Provenance{"dp_attention", Kind::text},
    Provenance{"kv_offloading", Kind::text},
    Provenance{"kv_offload_backend", Kind::text},
    Provenance{"allocated_cpu_dram_gb", Kind::integer},
};
/// Behind the accounting.
constexpr std::array shape{Provenance{"pp", Kind::integer}, Provenance{"dcp_size", Kind::integer},
                           Provenance{"pcp_size", Kind::integer}};

/// A label or an axis of that name; of some what the run itself says.
std::string text_of(const TableRun& run, std::string_view key) {
    if (const std::optional<std::string> label = run.label(key)) {
        return *label;
    }
    if (has_value(run.values, key)) {
        return std::string(value_in(run.values, key));
    }
    if (key == "model") {
        return std::string(value_in(run.load, "model"));
    }
    if (key == "scenario_type") {
        return "agentic-coding";  // what that file always is
    }
    if (key == "kv_offloading") {
        return run.label("offload").value_or(std::string(value_in(run.values, "offload")));
    }
    if (key == "conc") {
        const std::string_view users = value_in(run.load, "users");
        return std::string(users.empty() ? value_in(run.load, "max-inflight") : users);
    }
    return "";
}

void write_one(JsonWriter& json, const TableRun& run, const Provenance& one) {
    const std::string text = text_of(run, one.key);
    json.key(one.key);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (one.kind == Kind::text && !text.empty()) {
        json.string(text);
    } else if (one.kind == Kind::integer && is_number) {
        json.integer(number);
    } else if (one.kind == Kind::flag && !text.empty()) {
        json.boolean(text == "true" || text == "1" || text == "yes" || text == "on");
    } else {
        json.null();
    }
}

void write_number(JsonWriter& json, const char* key, std::optional<double> value) {
    json.key(key);
    value ? json.number(*value) : json.null();
}

/// As the view has it, with what only labels know.
void write_throughput(JsonWriter& json, const TableRun& run, JsonValue throughput) {
    json.begin_object();
    for (JsonValue one = throughput.first(); one.present(); one = one.next()) {
        const std::optional<double> gpus = gpus_of(run);
        if (one.key() != "per_gpu" || !gpus) {
            json.key(one.key()).raw(one.raw());
            continue;
        }
        json.key("per_gpu").begin_object();
        for (const char* side : {"total", "output", "input"}) {
            const std::optional<double> rate =
                throughput.find(side).find("tokens_per_second").as_double();
            write_number(json, (std::string(side) + "_tput_tps").c_str(),
                         rate ? std::optional(*rate / *gpus) : std::nullopt);
        }
        json.end_object();
    }
    json.end_object();
}

void write_request_metrics(JsonWriter& json, const TableRun& run, JsonValue metrics) {
    json.key("request_metrics").begin_object();
    for (JsonValue one = metrics.first(); one.present(); one = one.next()) {
        json.key(one.key());
        if (one.key() == "throughput") {
            write_throughput(json, run, one);
        } else {
            json.raw(one.raw());
        }
    }
    json.end_object();
}

std::optional<double> quotient(JsonValue server, const char* part, const char* whole) {
    const std::optional<double> a = server.find(part).as_double();
    const std::optional<double> b = server.find(whole).as_double();
    return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

/// The parts of it that servers tell us under names that mean the same.
void write_server_metrics(JsonWriter& json, JsonValue server) {
    constexpr const char* queries = "prefix_query_tokens";
    json.key("server_metrics").begin_object();
    json.key("present").boolean(server.is(JsonType::object));
    json.key("cache").begin_object();
    write_number(json, "gpu_cache_hit_rate", quotient(server, "prefix_hit_tokens", queries));
    write_number(json, "cpu_cache_hit_rate", quotient(server, "host_hit_tokens", queries));
    write_number(json, "external_cache_hit_rate", quotient(server, "remote_hit_tokens", queries));
    write_number(json, "prefix_cache_hits", server.find("prefix_hit_tokens").as_double());
    write_number(json, "prefix_cache_queries", server.find(queries).as_double());
    json.end_object();
    json.key("kv_cache").begin_object();
    write_number(json, "gpu_usage_pct", server.find("kv_usage").find("max").as_double());
    write_number(json, "cpu_usage_pct", server.find("host_kv_usage").find("max").as_double());
    json.end_object();
    json.key("tokens").begin_object();
    write_number(json, "prompt_total", server.find("prompt_tokens").as_double());
    write_number(json, "generation_total", server.find("generated_tokens").as_double());
    json.end_object();
    json.end_object();
}

}  // namespace

std::string inferencex_row(const TableRun& run, const std::string& view) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(view);
    CHECK(root);
    const JsonValue accounting = root.value().find("request_accounting");
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (const Provenance& one : provenance) {
        write_one(json, run, one);
    }
    json.key("num_requests_total").raw(accounting.find("records_total").raw());
    json.key("num_requests_successful").raw(accounting.find("records_profiled").raw());
    json.key("request_accounting").raw(accounting.raw());
    for (const Provenance& one : shape) {
        write_one(json, run, one);
    }
    write_request_metrics(json, run, root.value().find("request_metrics"));
    write_server_metrics(json, run.summary->root().find("server"));
    json.end_object();
    return text;
}

std::string inferencex_rows(const ManyRuns& table, std::string& why) {
    std::string text = "[";
    for (const TableRun& run : table.runs) {
        if (!run.counts()) {
            continue;
        }
        ViewedRun viewed;
        if (why = view_run(run, viewed); !why.empty()) {
            return "";
        }
        text +=
            (text.size() > 1 ? ",\n" : "\n") + inferencex_row(run, inferencex_view(viewed).json);
    }
    text += "\n]\n";
    escape_unprintable_json(text, 0);
    return text;
}

}  // namespace driftless
