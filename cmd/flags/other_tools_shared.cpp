/// Flags that several tools share and that are more than another name: trace formats, rates,
/// servers.

#include <algorithm>
#include <array>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_values.hpp"

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

void note_ignored(Spelled& out, const std::string& flag, const char* why) {
    out.notes.push_back(flag + " is ignored: " + why);
}

void refuse(Spelled& out, std::string_view flag, std::string_view value, const char* why) {
    if (out.refused.empty()) {
        out.refused = std::string(flag) + (value.empty() ? "" : " \"" + std::string(value) + "\"") +
                      ": " + why;
    }
}

}  // namespace

constinit const Foreign::Translated Foreign::translations[] = {
    {"--custom-dataset-type", &Foreign::take_dataset_type},
    {"--dataset", &Foreign::take_dataset_type},
    {"-d", &Foreign::take_dataset_type},
    {"--api", &Foreign::take_api},
    {"-a", &Foreign::take_api},
    {"--fixed-schedule-start-offset", &Foreign::take_start_offset},
    {"--fixed-schedule-end-offset", &Foreign::take_end_offset},
    {"--aibrix-route", &Foreign::take_route},
    {"--trace-mode", &Foreign::take_trace_mode},
    {"--profile", &Foreign::take_profile},
    {"--backend", &Foreign::take_backend},
    {"--data", &Foreign::take_data},
    {"--data-args", &Foreign::take_data_arguments},
    {"--constraint", &Foreign::take_constraint},
    {"--rate-type", &Foreign::take_rate_type},
    {"--dataset-name", &Foreign::take_dataset_name},
    {"--ready-check-timeout-sec", &Foreign::take_ready_check},
    {"--mooncake-slowdown-factor", &Foreign::take_slowdown},
    {"--mooncake-num-rounds", &Foreign::take_rounds},
};

Foreign::Foreign(const std::vector<std::string>& arguments, ForeignTool tool)
    : rates_(tool),
      has_dataset_path_(std::any_of(arguments.begin(), arguments.end(), [](const auto& one) {
          return one == "--dataset-path" || one.starts_with("--dataset-path=");
      })) {}

/// The same name may be a flag of ours with another meaning.
bool Foreign::is_ours(std::string_view typed, const std::string* next) const {
    const bool with_value = next != nullptr && !next->starts_with("-");
    const bool of_trace_replayer = typed == "--dataset" || typed == "--api";
    return (of_trace_replayer && !has_dataset_path_) || (typed == "--save-prompts" && with_value);
}

std::optional<std::size_t> Foreign::take(std::string_view typed, const std::string* next,
                                         Spelled& out) {
    if (is_ours(typed, next)) {
        return std::nullopt;
    }
    if (typed == "--save-prompts") {
        note_ignored(out, std::string(typed),
                     "use --save-prompts FILE; the same --seed makes the same prompts again");
        return 0;
    }
    if (const auto taken = rates_.take(typed, next, out); taken) {
        return taken;
    }
    for (const Translated& one : translations) {
        if (one.typed != typed) {
            continue;
        }
        if (next == nullptr) {
            refuse(out, typed, "", "needs a value");
            return 0;
        }
        (this->*one.translate)(*next, out);
        return 1;
    }
    return std::nullopt;
}

/// AIPerf's, and trace-replayer's. Types that are not a format here are told by the rows
/// themselves.
void Foreign::take_dataset_type(std::string_view value, Spelled& out) {
    if (value == "random_pool") {
        refuse(out, "--custom-dataset-type", value,
               "rows are not drawn at random here; use single_turn, which keeps their order");
    } else if (is_one_of("single_turn|inputs_json|dag_jsonl|baseten_trace|tracelab|"
                         "sagemaker_data_capture",
                         value)) {
        note_ignored(out, "--custom-dataset-type " + std::string(value),
                     "the format is detected from its keys");
    } else {
        add_flag(out, "--format", format_of(value));
    }
}

/// trace-replayer speaks chat only; to others "openai" is the completions API.
void Foreign::take_api(std::string_view value, Spelled& out) {
    add_flag(out, "--api", value == "openai" ? "openai-chat" : value);
}

void Foreign::take_start_offset(std::string_view value, Spelled& out) {
    add_flag(out, "--start", std::string(value) + "ms");
}

void Foreign::take_end_offset(std::string_view value, Spelled& out) {
    add_flag(out, "--end", std::string(value) + "ms");
}

void Foreign::take_route(std::string_view value, Spelled& out) {
    add_flag(out, "--header", "routing-strategy: " + std::string(value));
}

void Foreign::take_trace_mode(std::string_view value, Spelled& out) {
    if (value != "trace") {
        refuse(out, "--trace-mode", value, "only the recorded arrivals of a trace are replayed");
        return;
    }
    note_ignored(out, "--trace-mode trace", recorded_schedule_reason);
}

void Foreign::take_profile(std::string_view value, Spelled& out) {
    rates_.take_profile("--profile", value, out);
}

void Foreign::take_rate_type(std::string_view value, Spelled& out) {
    rates_.take_profile("--rate-type", value, out);
}

void Foreign::take_backend(std::string_view value, Spelled& out) {
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
        add_flag(out, "--api", value);
        out.typed_as.emplace_back("--api", "--backend");
        return;
    }
    for (const auto& [key, part] : config_parts(value)) {
        const auto* const same = std::find_if(
            std::begin(renamed), std::end(renamed),
            [name = std::string_view(key)](const auto& one) { return one[0] == name; });
        if (same != std::end(renamed)) {
            add_flag(out, (*same)[1], part);
        } else if (key.starts_with(body)) {
            extend_members(members, key.substr(body.size()), part);
        } else if (key.starts_with(headers)) {
            add_flag(out, "--header", key.substr(headers.size()) + ": " + part);
        } else if (key == "stream" && part == "false") {
            out.arguments.emplace_back("--no-stream");
        } else if (key == "verify" && part == "false") {
            out.arguments.emplace_back("--insecure");
        } else if (key == "kind" && part.starts_with("vllm")) {
            refuse(out, "--backend", key + "=" + part,
                   "driftless sends requests to a server; start vllm serve and use "
                   "kind=openai_http,target=URL");
        } else if (!is_one_of("kind=openai_http|stream=true|verify=true|validate_backend=true|"
                              "validate_backend=false|server_history=false|follow_redirects=false|"
                              "http2=false",
                              key + "=" + part)) {
            refuse(out, "--backend", mask_value("--backend", key + "=" + part),
                   "is not known here; use --url, --model, --api, --header and --extra-body");
        }
    }
    add_members(out, members);
}

/// "kind=mooncake,path=F,..", the same as JSON, or a path alone.
void Foreign::take_data(std::string_view value, Spelled& out) {
    if (!is_config(value)) {
        out.arguments.emplace_back(value);
        return;
    }
    if (!data_.empty()) {
        refuse(out, "--data", value, "is a second data set; replay one at a time");
        return;
    }
    data_ = value;
    for (const auto& [key, part] : config_parts(value)) {
        const bool names_file = part.ends_with(".jsonl") || part.ends_with(".json");
        const bool of_source = key == "source" || key == "src" || key.starts_with("source.");
        if (key == "kind" && part.starts_with("synthetic_")) {
            refuse(out, "--data", key + "=" + part,
                   "images and video are not sent, and text is one data set with prompt_tokens");
        } else if (key == "kind") {
            kind_ = part.ends_with("_file") || is_one_of("huggingface|hf", part) ? "" : part;
        } else if (key == "time_scale") {
            scale_ = part;
        } else if (key == "max_wait") {
            add_flag(out, "--gap-cap", part);
            out.typed_as.emplace_back("--gap-cap", "max_wait");
        } else if (key == "path" || key == "source.path" || (of_source && names_file)) {
            out.arguments.emplace_back(part);
        } else if (key == "hash_id_block_size") {
            add_flag(out, "--block-size", part);
        } else if (key.ends_with("_column")) {
            note_column(key, part, out);
        } else if (key == "load_kwargs.split" && part == "train") {
            note_ignored(out, "--data " + key + "=" + part, "a file is read as a whole");
        } else if (key != "source.kind") {
            refuse(out, "--data", key + "=" + part,
                   of_source ? "driftless downloads nothing; download the data set and name its "
                               "file: path=FILE in its place"
                             : "has no counterpart here; use kind, path, names of columns, "
                               "hash_id_block_size, max_wait and time_scale");
        }
    }
    if (is_one_of("otel|opentelemetry|otel_trace", kind_)) {
        refuse(out, "--data", "kind=" + kind_,
               "its spans become a trace with driftless convert --from-logs FILE -o TRACE");
    }
    kind_ = kind_ == "trace_minimal" ? "trace_synthetic" : kind_;
    constexpr std::string_view prefix = "trace_";
    if (kind_.starts_with(prefix) && kind_ != "trace_synthetic") {
        kind_.erase(0, prefix.size());
    }
}

/// {"type_": "trace_synthetic"}: as GuideLLM took it at first. No other member is known, and none
/// is let pass.
void Foreign::take_data_arguments(std::string_view value, Spelled& out) {
    std::string bare(value);
    std::erase_if(bare, [](char c) { return c == ' ' || c == '"' || c == '{' || c == '}'; });
    if (bare != "type_:trace_synthetic") {
        refuse(out, "--data-args", value,
               "has no counterpart here; name columns with --map time=COLUMN,in=COLUMN,out=COLUMN");
        return;
    }
    kind_ = "trace_synthetic";
}

void Foreign::take_constraint(std::string_view value, Spelled& out) {
    std::string kind;
    std::string bound;
    for (const auto& [key, part] : config_parts(value)) {
        if (key != "window" && key != "minimum") {
            (key == "kind" ? kind : bound) = part;
        }
    }
    if (kind == "max_requests") {
        add_flag(out, "--limit", bound);
    } else if (kind == "max_seconds" || kind == "max_duration") {
        add_flag(out, "--duration", bound);
    } else if (kind == "max_errors") {
        add_flag(out, "--stop-when", "failed >= " + bound);
    } else if (kind == "max_error_rate" || kind == "max_global_error_rate") {
        add_flag(out, "--stop-when", "errors >= " + bound);
    } else if (kind == "over_saturation") {
        refuse(out, "--constraint", value, no_saturation);
    } else {
        refuse(out, "--constraint", value, "has no counterpart here; use --limit or --duration");
    }
}

void Foreign::take_dataset_name(std::string_view value, Spelled& out) {
    const auto known = [value](const Name& name) { return name.typed == value; };
    out.data_set = value;
    if (std::any_of(std::begin(format_names), std::end(format_names), known)) {
        add_flag(out, "--format", format_of(value));
        out.lacks_times = value == "burstgpt";  // vLLM reads its lengths alone
        out.trace_missing = "--dataset-name " + std::string(value) +
                            ": driftless downloads nothing; fetch it, then add --dataset-path FILE";
        return;
    }
    if (value == "timed_trace") {
        return;
    }
    if (value == "sharegpt") {
        add_flag(out, "--format", "sharegpt");
        out.lacks_times = true;
        out.trace_missing =
            "--dataset-name sharegpt: driftless downloads nothing; fetch "
            "ShareGPT_V3_unfiltered_cleaned_split.json, then add --dataset-path FILE";
        note_questions(out);
        return;
    }
    if (value == "custom" || value == "openai" || value == "agentic-trace") {
        out.lacks_times =
            rates_.tool() == ForeignTool::vllm || rates_.tool() == ForeignTool::sglang;
    } else if (value != "trace") {
        refuse(out, "--dataset-name", value,
               "is not supported; random, prefix_repetition, random-ids and "
               "generated-shared-prefix are generated if the line begins with their tool (vllm "
               "bench serve, sglang.bench_serving); sharegpt and traces are read from files");
        return;
    }
    note_ignored(out, "--dataset-name " + std::string(value),
                 "the format is detected from its keys");
}

void Foreign::note_questions(Spelled& out) {
    out.notes.emplace_back(
        "each question of a conversation becomes a row, with the conversation before it; the tool "
        "sends only the first question");
}

void Foreign::take_ready_check(std::string_view value, Spelled& out) {
    if (value != "0") {
        add_flag(out, "--wait-ready", value);
    }
}

/// SGLang's: 2 takes twice as long.
void Foreign::take_slowdown(std::string_view value, Spelled& out) {
    const std::string speed = inverse_text(nano_of(value));
    if (speed.empty()) {
        refuse(out, "--mooncake-slowdown-factor", value, no_inverse);
    } else if (speed != "1") {
        add_flag(out, "--speed", speed);
        out.typed_as.emplace_back("--speed", "--mooncake-slowdown-factor");
    }
}

/// SGLang's sessions of several rounds, which it makes of each row.
void Foreign::take_rounds(std::string_view value, Spelled& out) {
    if (value != "1") {
        refuse(out, "--mooncake-num-rounds", value,
               "each row is one request here; use a trace with one row per round");
    }
}

void Foreign::note_column(std::string_view name, std::string_view value, Spelled& out) {
    if (name == "timestamp_column") {
        time_column_ = value;
    } else if (name == "prompt_tokens_column") {
        input_column_ = value;
    } else if (name == "output_tokens_column") {
        output_column_ = value;
    } else if (name == "hash_ids_column") {
        ids_column_ = value;
    } else if (name != "conversation_id_column" || value != "id") {
        refuse(out, "--data", std::string(name) + "=" + std::string(value),
               "has no counterpart here; use --map hashes=COLUMN,session=COLUMN");
    }
}

/// GuideLLM's plain traces have times and lengths, and no ids even where the file has some.
void Foreign::add_columns(Spelled& out) const {
    const bool renamed = time_column_ != "timestamp" || input_column_ != "input_length" ||
                         output_column_ != "output_length" || ids_column_ != "hash_ids";
    if (kind_ == "trace_synthetic" || (kind_ == "mooncake" && renamed)) {
        add_flag(out, "--map",
                 "time=" + time_column_ + ",in=" + input_column_ + ",out=" + output_column_ +
                     (kind_ == "mooncake" ? ",hashes=" + ids_column_ : ""));
        if (kind_ == "mooncake") {
            add_default(out, "--block-size", "512");
        }
    } else {
        add_flag(out, "--format", format_of(kind_));
    }
}

/// Trace times are in seconds there, and the scale makes milliseconds of them; what is left of it
/// stretches the trace, so that our speed is its inverse.
void Foreign::add_times(Spelled& out) const {
    const std::uint64_t scaled = nano_of(scale_.empty() ? "1" : scale_);
    const std::string speed = inverse_text(scaled);
    const bool weka = kind_ == "weka";
    if (speed.empty()) {
        refuse(out, "the time scale", scale_, no_inverse);
        return;
    }
    if (scaled == 1'000'000 && !weka) {
        add_flag(out, "--time-unit", "ms");
        return;
    }
    if (!weka && !kind_.empty()) {
        add_flag(out, "--time-unit", "s");
    }
    if (kind_ == "mooncake" && scaled == 1'000'000'000) {
        out.notes.emplace_back(
            "kind=mooncake: times are in seconds, as GuideLLM takes them; if the file has "
            "milliseconds, as Mooncake's own traces have, add time_scale=0.001");
    }
    if (scaled != 1'000'000'000) {
        add_flag(out, "--speed", speed);
    }
}

void Foreign::finish(Spelled& out) {
    if (rates_.tool() == ForeignTool::sglang && out.data_set.empty() && !out.makes_rows &&
        out.trace_missing.empty()) {
        out.trace_missing =
            "no data set is named, and SGLang's default (sharegpt) is not downloaded; give "
            "--dataset-path FILE or --dataset-name random";
    }
    rates_.finish(out);
    if (rates_.arrive() && !kind_.empty()) {
        add_columns(out);  // its times say nothing then
        return;
    }
    scale_ = rates_.stretch().empty() ? scale_ : rates_.stretch();
    if (!kind_.empty()) {
        add_columns(out);
    }
    if (!kind_.empty() || !scale_.empty()) {
        add_times(out);
    }
}

namespace {

constexpr std::array<std::string_view, 9> names{"--request-rate",
                                                "--burstiness",
                                                "--max-concurrency",
                                                "--rate",
                                                "--ramp-up-strategy",
                                                "--ramp-up-start-rps",
                                                "--ramp-up-end-rps",
                                                "--num-concurrency",
                                                "--rampup"};
/// GuideLLM's, where no bound is given: settings.py, max_concurrency, of 0.8.1.
constexpr const char* throughput_places = "10240";

constexpr std::array<std::string_view, 7> profiles{
    "replay", "constant", "async", "poisson", "concurrent", "synchronous", "throughput"};

bool is_known(std::string_view profile) {
    return std::find(profiles.begin(), profiles.end(), profile) != profiles.end();
}

}  // namespace

std::string ForeignRates::get(std::string_view name) const {
    const auto found = said_.find(name);
    return found == said_.end() ? "" : found->second;
}

std::optional<std::size_t> ForeignRates::take(std::string_view typed, const std::string* next,
                                              Spelled& out) {
    const auto name = std::find(names.begin(), names.end(), typed);
    if (name == names.end()) {
        return std::nullopt;
    }
    if (next == nullptr) {
        refuse_line(out, std::string(typed) + ": needs a value");
        return 0;
    }
    if (next->empty()) {
        refuse_line(out, std::string(typed) + " \"\" is empty; give it a value, or remove it");
    } else if (typed == "--burstiness" && !parse_arrivals("gamma:" + *next)) {
        refuse_line(out, "--burstiness \"" + *next +
                             "\" is not a number from 0.01 to 1000000; 1 is poisson, less is "
                             "burstier");
    }
    if (!said_.emplace(*name, *next).second) {
        refuse_line(out, std::string(typed) + ": is given 2 times; give it once");
    }
    return 1;
}

/// "poisson", or "kind=poisson,rate=16,rampup_duration=10".
void ForeignRates::take_profile(const std::string& flag, std::string_view value, Spelled& out) {
    profile_flag_ = flag + " " + std::string(value);
    const bool is_config = value.starts_with("kind=") || value.starts_with('{');
    profile_ = is_config ? config_value(value, "kind") : value;
    refuse_unknown(flag, out);
    for (const auto& [key, text] : config_parts(is_config ? value : "")) {
        if (is_one_of("rate|streams|time_scale", key)) {
            said_["--rate"] = text;
        } else if (key == "max_concurrency") {
            said_["--max-concurrency"] = text;
        } else if (key == "rampup_duration") {
            said_["--rampup"] = text;
        } else if (key == "kind") {
            continue;
        } else if (key == "warmup" || key == "cooldown") {
            add_note(out,
                     flag + " " + key + "=" + text + " is ignored: the figures cover every row");
        } else {
            refuse_line(out, flag + " \"" + key + "=" + text + "\": is not known here; see --rate");
        }
    }
}

void ForeignRates::refuse_unknown(const std::string& flag, Spelled& out) const {
    if (!is_known(profile_)) {
        refuse_line(out,
                    flag + " \"" + profile_ +
                        "\": has no counterpart; use replay, constant, poisson, concurrent, "
                        "synchronous or throughput, with one rate per run; driftless find --over "
                        "rate searches for a server's limit, driftless sweep runs several rates");
    }
}

void ForeignRates::add_cap(Spelled& out, const std::string& cap, const char* why) {
    add_note(out, "--max-concurrency " + cap + " is taken as --max-inflight " + cap + ": " + why +
                      ", and wait while that many are open");
    add_flag(out, "--max-inflight", cap);
    out.typed_as.emplace_back("--max-inflight", "--max-concurrency");
}

void ForeignRates::add_rate(Spelled& out, const std::string& rate, const std::string& law) {
    arrive_ = true;
    add_flag(out, "--rate", rate);
    if (has("--request-rate")) {
        out.typed_as.emplace_back("--rate", "--request-rate");
    }
    if (rate != "inf" && law != "poisson" && !law.empty()) {
        add_default(out, "--arrivals", law);
    }
}

/// A time bounds what is due, and there is no due before an end.
void ForeignRates::add_loop(Spelled& out, const std::string& open) {
    arrive_ = true;
    add_flag(out, "--concurrency", open);
    std::replace(out.arguments.begin(), out.arguments.end(), std::string("--duration"),
                 std::string("--for"));
}

/// vllm bench stretches what it has drawn to the exact mean, but on ramps.
std::string ForeignRates::drawn_law(bool scales) const {
    const std::string shape = get("--burstiness");
    const bool poisson = shape.empty() || shape == "1" || shape == "1.0";
    const std::string law = poisson ? "poisson" : "gamma:" + shape;
    return law + (scales && tool_ == ForeignTool::vllm ? ":scaled" : "");
}

/// Each gap at the rate of its row, from the first row to the last.
void ForeignRates::finish_ramp(Spelled& out) {
    out.typed_as.emplace_back("--ramp", "--ramp-up-strategy");
    const std::string from = get("--ramp-up-start-rps");
    const std::string to = get("--ramp-up-end-rps");
    if (from.empty() || to.empty()) {
        refuse_line(out, "--ramp-up-strategy " + get("--ramp-up-strategy") +
                             ": also needs --ramp-up-start-rps and --ramp-up-end-rps; for a ramp "
                             "over a time use --ramp FROM:TO:OVER");
        return;
    }
    arrive_ = true;
    add_flag(out, "--ramp", from + ":" + to + ":rows:" + get("--ramp-up-strategy"));
    if (const std::string law = drawn_law(false); law != "poisson") {
        add_default(out, "--arrivals", law);
    }
}

/// vllm bench, SGLang, and whoever writes --request-rate.
void ForeignRates::finish_rate(Spelled& out) {
    std::string rate = has("--request-rate") ? get("--request-rate") : get("--rate");
    const std::string cap = get("--max-concurrency");
    const bool by_default = rate.empty() && out.lacks_times && !has("--ramp-up-strategy") &&
                            (tool_ == ForeignTool::vllm || tool_ == ForeignTool::sglang);
    if (by_default) {
        add_note(out, "no --request-rate is given: using inf, the tool's default");
        rate = "inf";
    }
    if (rate == "inf" && has("--burstiness") && tool_ == ForeignTool::vllm) {
        add_note(out, "--burstiness " + get("--burstiness") +
                          " is ignored: an infinite rate has no gaps");
    }
    for (const char* const end : {"--ramp-up-start-rps", "--ramp-up-end-rps"}) {
        if (has(end) && !has("--ramp-up-strategy")) {
            refuse_line(out, std::string(end) + " " + get(end) + ": also needs --ramp-up-strategy");
        }
    }
    if (has("--request-rate") && has("--rate")) {
        refuse_line(out, "--request-rate and --rate both set the rate; remove one");
    } else if (has("--ramp-up-strategy")) {
        finish_ramp(out);
    } else if (rate == "inf" && !cap.empty()) {
        add_note(out, "--max-concurrency " + cap +
                          " with an infinite rate is taken as "
                          "--concurrency " +
                          cap + ": a row is sent when one of that many has ended");
        add_loop(out, cap);
        return;
    } else if (!rate.empty()) {
        add_rate(out, rate, drawn_law(true));
    } else if (has("--burstiness")) {
        const std::string law = drawn_law(false);
        add_default(out, "--arrivals", law);
    }
    if (!cap.empty()) {
        add_cap(out, cap,
                arrive_ ? "rows arrive at the rate" : "rows are sent at their recorded instants");
    }
}

/// A loop of so many places. `--max-seconds`, which bounds it, has become `--duration`.
void ForeignRates::finish_loop(Spelled& out, const std::string& rate) {
    if (profile_ == "throughput" && rate.empty()) {
        add_note(out, profile_flag_ + ": no limit of open requests is given: using " +
                          throughput_places + ", GuideLLM's default");
    }
    add_loop(out, rate.empty() ? throughput_places : rate);
    out.typed_as.emplace_back("--concurrency", profile_flag_);
    if (is_positive(get("--rampup"))) {
        add_flag(out, "--user-ramp", get("--rampup"));
    }
}

/// Requests a second. GuideLLM's Poisson process has no ramp.
void ForeignRates::finish_arrivals(Spelled& out, const std::string& rate) {
    const bool poisson = profile_ == "poisson";
    if (poisson && has("--rampup")) {
        add_note(out,
                 "a ramp of " + get("--rampup") + " s is ignored: GuideLLM's poisson has no ramp");
    } else if (is_positive(get("--rampup"))) {
        arrive_ = true;
        add_flag(out, "--ramp", "0:" + rate + ":" + get("--rampup"));
        add_flag(out, "--arrivals", "constant");
        return;
    }
    add_rate(out, rate, poisson ? "poisson" : "constant");
}

/// GuideLLM: one number means a rate, requests that are open at once, or how far a trace stretches.
void ForeignRates::finish_profile(Spelled& out) {
    const std::string rate = get("--rate");
    const std::string cap = get("--max-concurrency");
    if (rate.find_first_of(",[") != rate.npos) {
        refuse_line(out,
                    "--rate " + rate +
                        ": one run has one rate; start one run per rate, or use driftless sweep");
        return;
    }
    out.goes_round = profile_ != "replay";
    if (profile_ == "replay") {
        add_note(out, profile_flag_ + " is ignored: " + recorded_schedule_reason);
        stretch_ = rate;
    } else if (profile_ == "throughput") {
        finish_loop(out, cap.empty() ? rate : cap);
        return;
    } else if (profile_ == "synchronous") {
        finish_loop(out, "1");
    } else if (rate.empty()) {
        refuse_line(out, profile_flag_ + ": needs a --rate");
    } else if (profile_ == "concurrent") {
        finish_loop(out, rate);
    } else {
        finish_arrivals(out, rate);
    }
    if (!cap.empty()) {
        add_cap(out, cap, arrive_ ? "rows arrive" : "rows are sent at their recorded instants");
    }
}

void ForeignRates::finish(Spelled& out) {
    if (has("--burstiness") && has_argument(out, "--arrivals")) {
        refuse_line(out, "--burstiness " + get("--burstiness") +
                             ": --arrivals also sets how rows arrive; remove one");
    }
    if (has("--num-concurrency")) {
        add_loop(out, get("--num-concurrency"));
    }
    if (!profile_.empty()) {
        finish_profile(out);
        return;
    }
    if (tool_ == ForeignTool::guidellm && has("--rate")) {
        refuse_line(out, "--rate " + get("--rate") +
                             ": its meaning depends on GuideLLM's --profile; add --profile "
                             "constant, poisson, concurrent or replay");
        return;
    }
    if (tool_ == ForeignTool::guidellm && !has_argument(out, "--from") &&
        !has_argument(out, "--resume")) {
        refuse_line(
            out,
            "--profile is missing, and GuideLLM's default, sweep, runs ten loads; give --profile "
            "constant --rate R or another profile with one load; driftless find --over rate "
            "searches for a server's limit, driftless sweep runs several rates");
        return;
    }
    finish_rate(out);
}

}  // namespace driftless
