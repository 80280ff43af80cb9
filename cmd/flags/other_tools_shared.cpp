/// Flags that several tools share and that are more than another name: trace formats, rates,
/// servers.

#include <algorithm>
#include <array>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_values.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

struct Name {
    std::string_view typed;
    std::string_view ours;
};
constexpr Name format_names[] = {
    {"bailian", "qwen"},
    {"bailian_trace", "qwen"},
    {"mooncake", "mooncake"},
    {"mooncake_trace", "mooncake-delta"},  // AIPerf's: rows of a session hold what is new
    {"raw_payload", "mooncake"},           // bodies one a line
    {"burst_gpt_trace", "burstgpt"},
    {"burstgpt", "burstgpt"},
    {"azure", "azure"},
    {"weka_trace", "weka"},
    {"weka", "weka"},
};

bool is_config(std::string_view text) {
    return text.starts_with("kind=") || text.starts_with('{');
}

std::string_view format_of(std::string_view typed) {
    for (const Name& name : format_names) {
        if (name.typed == typed) {
            return name.ours;
        }
    }
    return typed;
}

void note_ignored(Line& line, const std::string& flag, const std::string& why) {
    line.notes.push_back(flag + " is ignored: " + why);
}

void refuse(Line& line, std::string_view flag, std::string_view value, const std::string& why) {
    if (line.refused.empty()) {
        line.refused = std::string(flag) +
                       (value.empty() ? "" : " \"" + std::string(value) + "\"") + ": " + why;
    }
}

/// GuideLLM's, where no bound is given: settings.py, max_concurrency, of 0.8.1.
constexpr const char* throughput_places = "10240";

constexpr std::array<std::string_view, 7> profiles{
    "replay", "constant", "async", "poisson", "concurrent", "synchronous", "throughput"};

bool is_known(std::string_view profile) {
    return std::find(profiles.begin(), profiles.end(), profile) != profiles.end();
}

void refuse_unknown(const std::string& flag, Line& line) {
    if (!is_known(line.profile)) {
        refuse_line(line,
                    flag + " \"" + line.profile +
                        "\": has no counterpart; use replay, constant, poisson, concurrent, "
                        "synchronous or throughput, with one rate per run; driftless find --over "
                        "rate searches for a server's limit, driftless sweep runs several rates");
    }
}

/// "poisson", or "kind=poisson,rate=16,rampup_duration=10".
void take_profile_of(const std::string& flag, std::string_view value, Line& line) {
    line.profile_flag = flag + " " + std::string(value);
    line.profile = is_config(value) ? config_value(value, "kind") : value;
    refuse_unknown(flag, line);
    for (const auto& [key, text] : config_parts(is_config(value) ? value : "")) {
        if (is_one_of("rate|streams|time_scale", key)) {
            line.kept["rate"].value = text;
        } else if (key == "max_concurrency") {
            line.kept["max-concurrency"].value = text;
        } else if (key == "rampup_duration") {
            line.kept["rampup"].value = text;
        } else if (key == "kind") {
            continue;
        } else if (key == "warmup" || key == "cooldown") {
            add_note(line,
                     flag + " " + key + "=" + text + " is ignored: the figures cover every row");
        } else {
            refuse_line(line,
                        flag + " \"" + key + "=" + text + "\": is not known here; see --rate");
        }
    }
}

void take_profile(std::string_view value, Line& line) {
    take_profile_of("--profile", value, line);
}

void take_rate_type(std::string_view value, Line& line) {
    take_profile_of("--rate-type", value, line);
}

void add_cap(Line& line, const std::string& cap, const char* why) {
    add_note(line, "--max-concurrency " + cap + " is taken as --max-inflight " + cap + ": " + why +
                       ", and wait while that many are open");
    add_flag(line, "--max-inflight", cap);
    line.typed_as.emplace_back("--max-inflight", "--max-concurrency");
}

void add_rate(Line& line, const std::string& rate, const std::string& law) {
    line.arrive = true;
    add_flag(line, "--rate", rate);
    if (line.has("request-rate")) {
        line.typed_as.emplace_back("--rate", "--request-rate");
    }
    if (rate != "inf" && law != "poisson" && !law.empty()) {
        add_default(line, "--arrivals", law);
    }
}

/// A time bounds what is due, and there is no due before an end.
void add_loop(Line& line, const std::string& open) {
    line.arrive = true;
    add_flag(line, "--concurrency", open);
    std::replace(line.arguments.begin(), line.arguments.end(), std::string("--duration"),
                 std::string("--for"));
}

/// vllm bench stretches what it has drawn to the exact mean, but on ramps.
std::string drawn_law(Line& line, bool scales) {
    const std::string shape = line.get("burstiness");
    const bool poisson = shape.empty() || shape == "1" || shape == "1.0";
    const std::string law = poisson ? "poisson" : "gamma:" + shape;
    return law + (scales && line.tool == "vllm" ? ":scaled" : "");
}

/// Each gap at the rate of its row, from the first row to the last.
void finish_ramp(Line& line) {
    line.typed_as.emplace_back("--ramp", "--ramp-up-strategy");
    const std::string from = line.get("ramp-up-start-rps");
    const std::string to = line.get("ramp-up-end-rps");
    if (from.empty() || to.empty()) {
        refuse_line(line, "--ramp-up-strategy " + line.get("ramp-up-strategy") +
                              ": also needs --ramp-up-start-rps and --ramp-up-end-rps; for a ramp "
                              "over a time use --ramp FROM:TO:OVER");
        return;
    }
    line.arrive = true;
    add_flag(line, "--ramp", from + ":" + to + ":rows:" + line.get("ramp-up-strategy"));
    if (const std::string law = drawn_law(line, false); law != "poisson") {
        add_default(line, "--arrivals", law);
    }
}

/// vllm bench, SGLang, and whoever writes --request-rate.
void finish_rate(Line& line) {
    std::string rate = line.has("request-rate") ? line.get("request-rate") : line.get("rate");
    const std::string cap = line.get("max-concurrency");
    const bool by_default = rate.empty() && line.lacks_times && !line.has("ramp-up-strategy") &&
                            (line.tool == "vllm" || line.tool == "sglang");
    if (by_default) {
        add_note(line, "no --request-rate is given: using inf, the tool's default");
        rate = "inf";
    }
    if (rate == "inf" && line.has("burstiness") && line.tool == "vllm") {
        add_note(line, "--burstiness " + line.get("burstiness") +
                           " is ignored: an infinite rate has no gaps");
    }
    for (const std::string end : {"ramp-up-start-rps", "ramp-up-end-rps"}) {
        if (line.has(end) && !line.has("ramp-up-strategy")) {
            refuse_line(line, "--" + end + " " + line.get(end) + ": also needs --ramp-up-strategy");
        }
    }
    if (line.has("request-rate") && line.has("rate")) {
        refuse_line(line, "--request-rate and --rate both set the rate; remove one");
    } else if (line.has("ramp-up-strategy")) {
        finish_ramp(line);
    } else if (rate == "inf" && !cap.empty()) {
        add_note(line, "--max-concurrency " + cap +
                           " with an infinite rate is taken as "
                           "--concurrency " +
                           cap + ": a row is sent when one of that many has ended");
        add_loop(line, cap);
        return;
    } else if (!rate.empty()) {
        add_rate(line, rate, drawn_law(line, true));
    } else if (line.has("burstiness")) {
        const std::string law = drawn_law(line, false);
        add_default(line, "--arrivals", law);
    }
    if (!cap.empty()) {
        add_cap(
            line, cap,
            line.arrive ? "rows arrive at the rate" : "rows are sent at their recorded instants");
    }
}

/// A loop of so many places. `--max-seconds`, which bounds it, has become `--duration`.
void finish_loop(Line& line, const std::string& rate) {
    if (line.profile == "throughput" && rate.empty()) {
        add_note(line, line.profile_flag + ": no limit of open requests is given: using " +
                           throughput_places + ", GuideLLM's default");
    }
    add_loop(line, rate.empty() ? throughput_places : rate);
    line.typed_as.emplace_back("--concurrency", line.profile_flag);
    if (is_positive(line.get("rampup"))) {
        add_flag(line, "--user-ramp", line.get("rampup"));
    }
}

/// Requests a second. GuideLLM's Poisson process has no ramp.
void finish_arrivals(Line& line, const std::string& rate) {
    const bool poisson = line.profile == "poisson";
    if (poisson && line.has("rampup")) {
        add_note(line, "a ramp of " + line.get("rampup") +
                           " s is ignored: GuideLLM's poisson has no ramp");
    } else if (is_positive(line.get("rampup"))) {
        line.arrive = true;
        add_flag(line, "--ramp", "0:" + rate + ":" + line.get("rampup"));
        add_flag(line, "--arrivals", "constant");
        return;
    }
    add_rate(line, rate, poisson ? "poisson" : "constant");
}

/// GuideLLM: one number means a rate, requests that are open at once, or how far a trace stretches.
void finish_profile(Line& line) {
    const std::string rate = line.get("rate");
    const std::string cap = line.get("max-concurrency");
    if (rate.find_first_of(",[") != rate.npos) {
        refuse_line(line,
                    "--rate " + rate +
                        ": one run has one rate; start one run per rate, or use driftless sweep");
        return;
    }
    line.goes_round = line.profile != "replay";
    if (line.profile == "replay") {
        add_note(line, line.profile_flag + " is ignored: " + reason_of("recorded_schedule"));
        line.stretch = rate;
    } else if (line.profile == "throughput") {
        finish_loop(line, cap.empty() ? rate : cap);
        return;
    } else if (line.profile == "synchronous") {
        finish_loop(line, "1");
    } else if (rate.empty()) {
        refuse_line(line, line.profile_flag + ": needs a --rate");
    } else if (line.profile == "concurrent") {
        finish_loop(line, rate);
    } else {
        finish_arrivals(line, rate);
    }
    if (!cap.empty()) {
        add_cap(line, cap,
                line.arrive ? "rows arrive" : "rows are sent at their recorded instants");
    }
}

/// Rates and requests that are open at once: one flag rarely says all of it.
void finish_load(Line& line) {
    if (line.has("burstiness") && has_argument(line, "--arrivals")) {
        refuse_line(line, "--burstiness " + line.get("burstiness") +
                              ": --arrivals also sets how rows arrive; remove one");
    }
    if (line.has("num-concurrency")) {
        add_loop(line, line.get("num-concurrency"));
    }
    if (!line.profile.empty()) {
        finish_profile(line);
        return;
    }
    if (line.tool == "guidellm" && line.has("rate")) {
        refuse_line(line, "--rate " + line.get("rate") +
                              ": its meaning depends on GuideLLM's --profile; add --profile "
                              "constant, poisson, concurrent or replay");
        return;
    }
    if (line.tool == "guidellm" && !has_argument(line, "--from") &&
        !has_argument(line, "--resume")) {
        refuse_line(
            line,
            "--profile is missing, and GuideLLM's default, sweep, runs ten loads; give --profile "
            "constant --rate R or another profile with one load; driftless find --over rate "
            "searches for a server's limit, driftless sweep runs several rates");
        return;
    }
    finish_rate(line);
}

/// AIPerf's, and trace-replayer's. Types that are not a format here are told by the rows
/// themselves.
void take_dataset_type(std::string_view value, Line& line) {
    if (value == "random_pool") {
        refuse(line, "--custom-dataset-type", value,
               "rows are not drawn at random here; use single_turn, which keeps their order");
    } else if (is_one_of("single_turn|inputs_json|dag_jsonl|baseten_trace|tracelab|"
                         "sagemaker_data_capture",
                         value)) {
        note_ignored(line, "--custom-dataset-type " + std::string(value),
                     "the format is detected from its keys");
    } else {
        add_flag(line, "--format", format_of(value));
    }
}

/// trace-replayer speaks chat only; to others "openai" is the completions API.
void take_api(std::string_view value, Line& line) {
    add_flag(line, "--api", value == "openai" ? "openai-chat" : value);
}

void take_trace_mode(std::string_view value, Line& line) {
    if (value != "trace") {
        refuse(line, "--trace-mode", value, "only the recorded arrivals of a trace are replayed");
        return;
    }
    note_ignored(line, "--trace-mode trace", reason_of("recorded_schedule"));
}

void take_backend(std::string_view value, Line& line) {
    constexpr std::string_view renamed[][2] = {{"target", "--url"},
                                               {"model", "--model"},
                                               {"request_format", "--api"},
                                               {"api_key", "--api-key"},
                                               {"timeout", "--timeout-total"},
                                               {"timeout_connect", "--timeout-connect"}};
    constexpr std::string_view body = "extras.body.";
    constexpr std::string_view headers = "extras.headers.";
    std::string members;
    if (!is_config(value)) {
        add_flag(line, "--api", value);
        line.typed_as.emplace_back("--api", "--backend");
        return;
    }
    for (const auto& [key, part] : config_parts(value)) {
        const auto* const same = std::find_if(
            std::begin(renamed), std::end(renamed),
            [name = std::string_view(key)](const auto& one) { return one[0] == name; });
        if (same != std::end(renamed)) {
            add_flag(line, (*same)[1], part);
        } else if (key.starts_with(body)) {
            extend_members(members, key.substr(body.size()), part);
        } else if (key.starts_with(headers)) {
            add_flag(line, "--header", key.substr(headers.size()) + ": " + part);
        } else if (key == "stream" && part == "false") {
            line.arguments.emplace_back("--no-stream");
        } else if (key == "verify" && part == "false") {
            line.arguments.emplace_back("--insecure");
        } else if (key == "kind" && part.starts_with("vllm")) {
            refuse(line, "--backend", key + "=" + part,
                   "driftless sends requests to a server; start vllm serve and use "
                   "kind=openai_http,target=URL");
        } else if (!is_one_of("kind=openai_http|stream=true|verify=true|validate_backend=true|"
                              "validate_backend=false|server_history=false|follow_redirects=false|"
                              "http2=false",
                              key + "=" + part)) {
            refuse(line, "--backend", mask_value(mask_backend, key + "=" + part),
                   "is not known here; use --url, --model, --api, --header and --extra-body");
        }
    }
    add_members(line, members);
}

void note_column(std::string_view name, std::string_view value, Line& line) {
    if (name == "timestamp_column") {
        line.time_column = value;
    } else if (name == "prompt_tokens_column") {
        line.input_column = value;
    } else if (name == "output_tokens_column") {
        line.output_column = value;
    } else if (name == "hash_ids_column") {
        line.ids_column = value;
    } else if (name != "conversation_id_column" || value != "id") {
        refuse(line, "--data", std::string(name) + "=" + std::string(value),
               "has no counterpart here; use --map hashes=COLUMN,session=COLUMN");
    }
}

/// "kind=mooncake,path=F,..", the same as JSON, or a path alone.
void take_data(std::string_view value, Line& line) {
    if (line.tool == "guidellm" && !config_value(value, "prompt_tokens").empty()) {
        line.kept["data"].value = value;
        return;
    }
    if (!is_config(value)) {
        line.arguments.emplace_back(value);
        return;
    }
    if (!line.data.empty()) {
        refuse(line, "--data", value, "is a second data set; replay one at a time");
        return;
    }
    line.data = value;
    for (const auto& [key, part] : config_parts(value)) {
        const bool names_file = part.ends_with(".jsonl") || part.ends_with(".json");
        const bool of_source = key == "source" || key == "src" || key.starts_with("source.");
        if (key == "kind" && part.starts_with("synthetic_")) {
            refuse(line, "--data", key + "=" + part,
                   "images and video are not sent, and text is one data set with prompt_tokens");
        } else if (key == "kind") {
            line.kind = part.ends_with("_file") || is_one_of("huggingface|hf", part) ? "" : part;
        } else if (key == "time_scale") {
            line.scale = part;
        } else if (key == "max_wait") {
            add_flag(line, "--gap-cap", part);
            line.typed_as.emplace_back("--gap-cap", "max_wait");
        } else if (key == "path" || key == "source.path" || (of_source && names_file)) {
            line.arguments.emplace_back(part);
        } else if (key == "hash_id_block_size") {
            add_flag(line, "--block-size", part);
        } else if (key.ends_with("_column")) {
            note_column(key, part, line);
        } else if (key == "load_kwargs.split" && part == "train") {
            note_ignored(line, "--data " + key + "=" + part, "a file is read as a whole");
        } else if (key != "source.kind") {
            refuse(line, "--data", key + "=" + part,
                   of_source ? "driftless downloads nothing; download the data set and name its "
                               "file: path=FILE in its place"
                             : "has no counterpart here; use kind, path, names of columns, "
                               "hash_id_block_size, max_wait and time_scale");
        }
    }
    if (is_one_of("otel|opentelemetry|otel_trace", line.kind)) {
        refuse(line, "--data", "kind=" + line.kind,
               "its spans become a trace with driftless convert --from-logs FILE -o TRACE");
    }
    line.kind = line.kind == "trace_minimal" ? "trace_synthetic" : line.kind;
    constexpr std::string_view prefix = "trace_";
    if (line.kind.starts_with(prefix) && line.kind != "trace_synthetic") {
        line.kind.erase(0, prefix.size());
    }
}

/// {"type_": "trace_synthetic"}: as GuideLLM took it at first. No other member is known, and none
/// is let pass.
void take_data_arguments(std::string_view value, Line& line) {
    std::string bare(value);
    std::erase_if(bare, [](char c) { return c == ' ' || c == '"' || c == '{' || c == '}'; });
    if (bare != "type_:trace_synthetic") {
        refuse(line, "--data-args", value,
               "has no counterpart here; name columns with --map time=COLUMN,in=COLUMN,out=COLUMN");
        return;
    }
    line.kind = "trace_synthetic";
}

void take_constraint(std::string_view value, Line& line) {
    std::string kind;
    std::string bound;
    for (const auto& [key, part] : config_parts(value)) {
        if (key != "window" && key != "minimum") {
            (key == "kind" ? kind : bound) = part;
        }
    }
    if (kind == "max_requests") {
        add_flag(line, "--limit", bound);
    } else if (kind == "max_seconds" || kind == "max_duration") {
        add_flag(line, "--duration", bound);
    } else if (kind == "max_errors") {
        add_flag(line, "--stop-when", "failed >= " + bound);
    } else if (kind == "max_error_rate" || kind == "max_global_error_rate") {
        add_flag(line, "--stop-when", "errors >= " + percent_of(bound));
    } else if (kind == "over_saturation") {
        refuse(line, "--constraint", value, reason_of("no_saturation"));
    } else {
        refuse(line, "--constraint", value, "has no counterpart here; use --limit or --duration");
    }
}

void take_dataset_name(std::string_view value, Line& line) {
    if ((line.tool == "vllm" || line.tool == "sglang") &&
        is_one_of("random|random-ids|prefix_repetition|generated-shared-prefix", value)) {
        line.kept["set"].value = value;
        return;
    }
    const auto known = [value](const Name& name) { return name.typed == value; };
    line.data_set = value;
    if (std::any_of(std::begin(format_names), std::end(format_names), known)) {
        add_flag(line, "--format", format_of(value));
        line.lacks_times = value == "burstgpt";  // vLLM reads its lengths alone
        line.trace_missing =
            "--dataset-name " + std::string(value) +
            ": driftless downloads nothing; fetch it, then add --dataset-path FILE";
        return;
    }
    if (value == "timed_trace") {
        return;
    }
    if (value == "sharegpt") {
        add_flag(line, "--format", "sharegpt");
        line.lacks_times = true;
        line.trace_missing =
            "--dataset-name sharegpt: driftless downloads nothing; fetch "
            "ShareGPT_V3_unfiltered_cleaned_split.json, then add --dataset-path FILE";
        add_note(line,
                 "each question of a conversation becomes a row, with the conversation before it; "
                 "the tool sends only the first question");
        return;
    }
    if (value == "custom" || value == "openai" || value == "agentic-trace") {
        line.lacks_times = line.tool == "vllm" || line.tool == "sglang";
    } else if (value != "trace") {
        refuse(line, "--dataset-name", value,
               "is not supported; random, prefix_repetition, random-ids and "
               "generated-shared-prefix are generated if the line begins with their tool (vllm "
               "bench serve, sglang.bench_serving); sharegpt and traces are read from files");
        return;
    }
    note_ignored(line, "--dataset-name " + std::string(value),
                 "the format is detected from its keys");
}

void take_ready_check(std::string_view value, Line& line) {
    if (value != "0") {
        add_flag(line, "--wait-ready", value);
    }
}

/// SGLang's: 2 takes twice as long.
void take_slowdown(std::string_view value, Line& line) {
    const std::string speed = inverse_text(nano_of(value));
    if (speed.empty()) {
        refuse(line, "--mooncake-slowdown-factor", value, no_inverse);
    } else if (speed != "1") {
        add_flag(line, "--speed", speed);
        line.typed_as.emplace_back("--speed", "--mooncake-slowdown-factor");
    }
}

/// SGLang's sessions of several rounds, which it makes of each row.
void take_rounds(std::string_view value, Line& line) {
    if (value != "1") {
        refuse(line, "--mooncake-num-rounds", value,
               "each row is one request here; use a trace with one row per round");
    }
}

/// GuideLLM's plain traces have times and lengths, and no ids even where the file has some.
void add_columns(Line& line) {
    const bool renamed = line.time_column != "timestamp" || line.input_column != "input_length" ||
                         line.output_column != "output_length" || line.ids_column != "hash_ids";
    if (line.kind == "trace_synthetic" || (line.kind == "mooncake" && renamed)) {
        add_flag(line, "--map",
                 "time=" + line.time_column + ",in=" + line.input_column +
                     ",out=" + line.output_column +
                     (line.kind == "mooncake" ? ",hashes=" + line.ids_column : ""));
        if (line.kind == "mooncake") {
            add_default(line, "--block-size", "512");
        }
    } else {
        add_flag(line, "--format", format_of(line.kind));
    }
}

/// Trace times are in seconds there, and the scale makes milliseconds of them; what is left of it
/// stretches the trace, so that our speed is its inverse.
void add_times(Line& line) {
    const std::uint64_t scaled = nano_of(line.scale.empty() ? "1" : line.scale);
    const std::string speed = inverse_text(scaled);
    const bool weka = line.kind == "weka";
    if (speed.empty()) {
        refuse(line, "the time scale", line.scale, no_inverse);
        return;
    }
    if (scaled == 1'000'000 && !weka) {
        add_flag(line, "--time-unit", "ms");
        return;
    }
    if (!weka && !line.kind.empty()) {
        add_flag(line, "--time-unit", "s");
    }
    if (line.kind == "mooncake" && scaled == 1'000'000'000) {
        line.notes.emplace_back(
            "kind=mooncake: times are in seconds, as GuideLLM takes them; if the file has "
            "milliseconds, as Mooncake's own traces have, add time_scale=0.001");
    }
    if (scaled != 1'000'000'000) {
        add_flag(line, "--speed", speed);
    }
}

constexpr struct {
    std::string_view name;
    void (*take)(std::string_view value, Line& line);
} codes[] = {
    {"dataset_type", take_dataset_type},
    {"api", take_api},
    {"trace_mode", take_trace_mode},
    {"profile", take_profile},
    {"rate_type", take_rate_type},
    {"backend", take_backend},
    {"data", take_data},
    {"data_arguments", take_data_arguments},
    {"constraint", take_constraint},
    {"dataset_name", take_dataset_name},
    {"ready_check", take_ready_check},
    {"slowdown", take_slowdown},
    {"rounds", take_rounds},
};

}  // namespace

void take_by_code(std::string_view name, std::string_view value, Line& line) {
    const auto* const code = std::find_if(std::begin(codes), std::end(codes),
                                          [name](const auto& one) { return one.name == name; });
    CHECK(code != std::end(codes));
    code->take(value, line);
}

void finish_shared(Line& line) {
    if (line.tool == "sglang" && line.data_set.empty() && !line.makes_rows &&
        line.trace_missing.empty()) {
        line.trace_missing =
            "no data set is named, and SGLang's default (sharegpt) is not downloaded; give "
            "--dataset-path FILE or --dataset-name random";
    }
    finish_load(line);
    if (line.arrive && !line.kind.empty()) {
        add_columns(line);  // its times say nothing then
        return;
    }
    line.scale = line.stretch.empty() ? line.scale : line.stretch;
    if (!line.kind.empty()) {
        add_columns(line);
    }
    if (!line.kind.empty() || !line.scale.empty()) {
        add_times(line);
    }
}

}  // namespace driftless
