#include "cmd/replay/flags/foreign.hpp"

#include <algorithm>

#include "cmd/replay/flags/foreign_values.hpp"
#include "cmd/replay/flags/tools/tool_flags.hpp"
#include "cmd/secrets.hpp"

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

}  // namespace driftless
