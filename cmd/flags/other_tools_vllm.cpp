/// The flags of `vllm bench serve` (0.32.0: benchmarks/serve.py and benchmarks/datasets), but for
/// those of rates and of synthetic data sets, which several tools share.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

constexpr const char* no_plots =
    "no plots are made here; driftless report RUN writes tables and charts";

constexpr ToolFlag flags[] = {
    {"--label", Values::one, Becomes::together},
    {"--header", Values::many, Becomes::together},
    {"--tokenizer", Values::one, Becomes::together},
    {"--tokenizer-mode", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer"},
    {"--skip-tokenizer-init", Values::none, Becomes::nothing,
     "words of one token each need no tokenizer"},
    {"--use-beam-search", Values::none, Becomes::nothing,
     "vllm bench serve itself sends nothing for this flag"},
    {"--logprobs", Values::one, Becomes::together},
    {"--probe-request-rate", Values::one, Becomes::refused,
     "probes beside the load need a separate run; start a second driftless replay with --rate R "
     "and answers of one token",
     "0|0.0"},
    {"--num-warmups", Values::one, Becomes::nothing, no_warm_up},
    {"--profile", Values::none, Becomes::nothing, by_event},
    {"--metadata", Values::many, Becomes::together},
    {"--self-timed", Values::none, Becomes::nothing, "rows are sent at their recorded instants"},
    {"--no-self-timed", Values::none, Becomes::together},
    {"--request-id-prefix", Values::one, Becomes::nothing,
     "each X-Request-Id is a UUID; --header \"X-Request-Id: NAME-{row}\" sends another"},
    {"--top-p", Values::one, Becomes::together},
    {"--top-k", Values::one, Becomes::together},
    {"--min-p", Values::one, Becomes::together},
    {"--temperature", Values::one, Becomes::together},
    {"--frequency-penalty", Values::one, Becomes::together},
    {"--presence-penalty", Values::one, Becomes::together},
    {"--repetition-penalty", Values::one, Becomes::together},
    {"--extra-body", Values::one, Becomes::together},
    {"--served-model-name", Values::one, Becomes::together},
    {"--lora-modules", Values::many, Becomes::refused, no_adapters},
    {"--lora-assignment", Values::one, Becomes::refused, no_adapters, "random"},
    {"--chat-template-kwargs", Values::one, Becomes::nothing,
     "it is for prompts that the client renders; for the server's template use --extra-body "
     "'{\"chat_template_kwargs\": ..}'"},
    {"--plot-timeline|--plot-dataset-stats", Values::none, Becomes::nothing, no_plots},
    {"--timeline-itl-thresholds", Values::one, Becomes::nothing, no_plots},
    {"--no-stream", Values::none, Becomes::nothing,
     "it applies to downloads of data sets, and driftless downloads nothing"},
    {"--no-oversample", Values::none, Becomes::together},
    {"--skip-chat-template", Values::none, Becomes::nothing,
     "the client renders no template; --api chooses the API, and so who does"},
    {"--enable-multimodal-chat|--custom-ensure-client-side-data", Values::none, Becomes::nothing,
     other_set},
    {"--custom-output-len", Values::one, Becomes::together},
    {"--sharegpt-output-len", Values::one, Becomes::together},
    {"--spec-bench-output-len|--spec-bench-category|--blazedit-min-distance|"
     "--blazedit-max-distance|--asr-max-audio-len-sec|--asr-min-audio-len-sec|--hf-subset|"
     "--hf-split|--hf-name|--hf-output-len|--bfcl-categories|--speed-bench-dataset-subset|"
     "--speed-bench-output-len|--speed-bench-category|--random-mm-base-items-per-request|"
     "--random-mm-num-mm-items-range-ratio|--random-mm-limit-mm-per-prompt|"
     "--random-mm-bucket-config",
     Values::one, Becomes::nothing, other_set},
    {"--random-batch-size", Values::one, Becomes::refused,
     "requests have one prompt each; remove it", "1"},
    {"--no-reranker", Values::none, Becomes::nothing, other_set},
    {"--timed-trace-chunk-hash-size", Values::one, Becomes::together},
    {"--timed-trace-sec-multiplier", Values::one, Becomes::together},
    {"--timed-trace-label-timestamp", Values::one, Becomes::together},
    {"--timed-trace-label-input-length", Values::one, Becomes::together},
    {"--timed-trace-label-output-length", Values::one, Becomes::together},
    {"--timed-trace-label-hash-ids", Values::one, Becomes::together},
};

/// Sampling parameters, as members of the body.
void finish_body(const KeptFlags& kept, Spelled& out) {
    constexpr std::string_view members[][2] = {
        {"--top-p", "top_p"},
        {"--top-k", "top_k"},
        {"--min-p", "min_p"},
        {"--temperature", "temperature"},
        {"--frequency-penalty", "frequency_penalty"},
        {"--presence-penalty", "presence_penalty"},
        {"--repetition-penalty", "repetition_penalty"},
        {"--logprobs", "logprobs"},
    };
    std::string all;
    for (const auto& [flag, name] : members) {
        if (kept.has(flag)) {
            extend_members(all, name, kept.get(flag));
        }
    }
    add_members_beside(out, all, kept.get("--extra-body"));
}

/// `--dataset-name timed_trace`: keys of the file, its unit, and the size of its blocks.
void finish_timed_trace(const KeptFlags& kept, Spelled& out) {
    if (out.data_set != "timed_trace") {
        note_unused(kept,
                    {"--timed-trace-chunk-hash-size", "--timed-trace-sec-multiplier",
                     "--timed-trace-label-timestamp", "--timed-trace-label-input-length",
                     "--timed-trace-label-output-length", "--timed-trace-label-hash-ids",
                     "--no-self-timed"},
                    "the data set is not timed_trace", out);
        return;
    }
    const std::string unit = kept.get("--timed-trace-sec-multiplier", "1");
    if (unit != "1" && unit != "1.0" && unit != "0.001" && unit != "1e-3") {
        refuse_line(
            out, "--timed-trace-sec-multiplier " + unit +
                     ": is not 1 (seconds) or 0.001 (milliseconds); use --time-unit and --speed");
    }
    add_flag(out, "--map",
             "time=" + kept.get("--timed-trace-label-timestamp", "timestamp") +
                 ",in=" + kept.get("--timed-trace-label-input-length", "input_length") +
                 ",out=" + kept.get("--timed-trace-label-output-length", "output_length") +
                 ",hashes=" + kept.get("--timed-trace-label-hash-ids", "hash_ids"));
    add_flag(out, "--time-unit", unit == "1" || unit == "1.0" ? "s" : "ms");
    add_default(out, "--block-size", kept.get("--timed-trace-chunk-hash-size", "16"));
    out.lacks_times = kept.has("--no-self-timed");
}

void finish_labels(const KeptFlags& kept, Spelled& out) {
    if (kept.has("--label")) {
        add_flag(out, "--label", "label=" + kept.get("--label"));
    }
    std::string pairs = kept.get("--metadata");
    while (!pairs.empty()) {
        const std::string pair = pairs.substr(0, pairs.find(' '));
        pairs.erase(0, pair.size() + 1);
        add_flag(out, "--label", pair);
    }
}

void finish(const KeptFlags& kept, Spelled& out) {
    out.goes_round = !kept.has("--no-oversample");
    if (!out.goes_round) {
        add_note(out, "--no-oversample: no row is sent twice");
    }
    finish_body(kept, out);
    finish_timed_trace(kept, out);
    finish_labels(kept, out);
    finish_serving(kept, out);
    add_default(out, "--api", "openai-completions");
    add_default_server(out, "8000");
}

}  // namespace

const ToolTable& vllm_table() {
    static constexpr ToolTable table{flags, finish};
    return table;
}

}  // namespace driftless
