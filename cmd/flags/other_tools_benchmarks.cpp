/// The flags of other benchmarks of servers, one tool after the other: kv-cache-tester, `vllm bench
/// serve`, SGLang's bench_serving, GuideLLM.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

// The flags of kv-cache-tester's trace_replay_tester.py: those of its branch main (94f6046d), then
// those that the branches agentx (InferenceX pull request 993) and agentx-minimized add.

namespace {

constexpr const char* no_graphs = "no charts are drawn here; the figures are in the run's folder";
constexpr const char* unused = "the tool itself reads it but does not use it";
constexpr const char* no_estimate = "only the tool's working-set estimate uses it";
constexpr const char* no_phase_caps =
    "the client does not limit prefill and decode separately; remove it, or cap both with "
    "--max-inflight N";
constexpr const char* no_breaker = "failures are counted and the run continues; Ctrl-C ends it";
constexpr const char* fetch_the_rows =
    "driftless downloads nothing; fetch it (hf download --repo-type dataset NAME --local-dir "
    "traces) and give --trace-directory traces";

constexpr ToolFlag kv_flags[] = {
    {"--api-endpoint", Values::one, Becomes::flag, "--url"},
    {"--trace-directory", Values::one, Becomes::flag, ""},
    {"--output-dir", Values::one, Becomes::flag, "--out"},
    {"--max-ttft", Values::one, Becomes::together},
    {"--ttft-metric", Values::one, Becomes::together},
    {"--min-output-tokens-per-req", Values::one, Becomes::nothing, unused},
    {"--start-users", Values::one, Becomes::together},
    {"--max-users", Values::one, Becomes::together},
    {"--recycle", Values::none, Becomes::flag, "--recycle"},
    {"--max-new-tokens-per-period", Values::one, Becomes::nothing,
     "a user's next tree begins at once, whatever its size"},
    {"--max-working-set-tokens", Values::one, Becomes::refused,
     "the tool's working-set estimate holds no users back here; remove it", "0"},
    {"--min-requests", Values::one, Becomes::refused,
     "traces are not selected by their number of requests here; leave out the shorter files",
     "0|1"},
    {"--max-delay", Values::one, Becomes::flag, "--gap-cap"},
    {"--time-scale", Values::one, Becomes::together},
    {"--timing-strategy", Values::one, Becomes::together},
    {"--api-time-scale", Values::one, Becomes::nothing,
     "only --timing-strategy api-scaled uses it"},
    {"--test-duration", Values::one, Becomes::flag, "--for"},
    {"--assessment-period", Values::one, Becomes::together},
    {"--max-context", Values::one, Becomes::refused,
     "the tool drops traces whose first request is longer, and cuts the others where they exceed "
     "it; remove the flag and such files (driftless convert makes smaller traces)"},
    {"--tokenizer", Values::one, Becomes::together},
    {"--chunk-size", Values::one, Becomes::nothing, no_estimate},
    {"--no-color", Values::none, Becomes::nothing, "output has no colours"},
    {"--verbose", Values::none, Becomes::nothing, "--table full shows every figure"},
    {"--skip-graphs", Values::none, Becomes::nothing, no_graphs},
    {"--seed", Values::one, Becomes::together},
    {"--trace-seed", Values::one, Becomes::together},
    {"--prompt-seed", Values::one, Becomes::together},
    {"--temperature", Values::one, Becomes::together},
    {"--top-p", Values::one, Becomes::together},
    {"--top-k", Values::one, Becomes::together},
    {"--repetition-penalty", Values::one, Becomes::together},
    {"--ttft-window", Values::one, Becomes::nothing,
     "users are added according to the mean of at most three periods"},
    {"--rate-limit-backoff", Values::one, Becomes::nothing, unused},
    {"--max-concurrent-requests", Values::one, Becomes::together},
    {"--max-prefill-concurrent", Values::one, Becomes::refused, no_phase_caps, "0"},
    {"--max-decode-concurrent", Values::one, Becomes::refused, no_phase_caps, "0"},
    {"--otpm-budget", Values::one, Becomes::together},
    {"--itpm-budget", Values::one, Becomes::together},
    {"--slo-ttft", Values::one, Becomes::together},
    {"--slo-decode-tps", Values::one, Becomes::together},
    {"--fairness-window", Values::one, Becomes::nothing, unused},
    {"--cache-max-age", Values::one, Becomes::nothing, no_estimate},
    {"--warm-prefix-pct", Values::one, Becomes::refused,
     "prompts share what the trace's block ids say, and trees share nothing; use 0", "0|0.0"},
    {"--advance-min", Values::one, Becomes::together},
    {"--advance-max", Values::one, Becomes::together},
    {"--advance-all-users", Values::none, Becomes::together},
    {"--max-consecutive-errors", Values::one, Becomes::nothing, no_breaker},
    {"--circuit-breaker-window", Values::one, Becomes::nothing, no_breaker},
    // Branches agentx and agentx-minimized.
    {"--hf-dataset", Values::one, Becomes::refused, fetch_the_rows},
    {"--hf-split", Values::one, Becomes::refused, fetch_the_rows, "train"},
    {"--hash-block-mode", Values::none, Becomes::nothing, "prompts always follow the block ids"},
    {"--debug-trace", Values::none, Becomes::together},
    {"--warmup-enabled", Values::none, Becomes::nothing,
     "the warm-up always sends what a start inside a trace needs"},
    {"--metrics-output-prefix", Values::one, Becomes::nothing, in_the_folder},
    {"--no-max-tokens", Values::none, Becomes::together},
    {"--enable-request-rate-limiting", Values::none, Becomes::refused,
     "users are not held back by TTFT here; remove it"},
};

/// The tool adds users while the TTFT allows it; what pull request 993 uses keeps their number.
void finish_users(const KeptFlags& kept, Spelled& out) {
    const std::string start = kept.get("--start-users", "1");
    const std::string most = kept.get("--max-users", "50");
    if (start == most) {
        add_default(out, "--users", start);
        if (kept.has("--assessment-period")) {
            add_default(out, "--period", kept.get("--assessment-period"));
        }
        for (const char* typed : {"--max-ttft", "--ttft-metric"}) {
            if (kept.has(typed)) {
                add_note(out, std::string(typed) + " " + kept.get(typed) +
                                  " is ignored: " + "the number of users does not change");
            }
        }
        return;
    }
    const std::string period = kept.get("--assessment-period", "30");
    const std::string grow =
        "ttft:" + kept.get("--ttft-metric", "avg") + ":" + kept.get("--max-ttft", "2.0") + "s";
    add_default(out, "--users", start + ".." + most);
    add_default(out, "--grow", grow);
    add_default(out, "--period", period + "s");
    add_note(out, "--start-users " + start + ", --max-users " + most + " are taken as --users " +
                      start + ".." + most + " --grow " + grow + " --period " + period +
                      "s: users are added at the end of a period, at most every second one");
}

void finish_seed(const KeptFlags& kept, Spelled& out) {
    const std::string seed = kept.get("--seed");
    const std::string trace = kept.get("--trace-seed", seed);
    const std::string prompt = kept.get("--prompt-seed", seed);
    if (trace != prompt && !trace.empty() && !prompt.empty()) {
        refuse_line(out, "--trace-seed " + trace + ", --prompt-seed " + prompt +
                             ": one seed draws both the order of the trees and the prompts; give "
                             "both the same value, or only --seed");
    } else if (!trace.empty() || !prompt.empty()) {
        add_default(out, "--seed", trace.empty() ? prompt : trace);
    }
}

/// A seeded place between two shares of a trace's requests; trees that follow begin at theirs.
void finish_start(const KeptFlags& kept, Spelled& out) {
    const std::string to = kept.get("--advance-max", "0");
    if (!is_positive(to)) {
        return;
    }
    if (kept.has("--advance-all-users")) {
        refuse_line(out,
                    "--advance-all-users: only the first tree of a user begins inside its "
                    "recording; recycled trees begin at their first request; remove it");
    }
    add_flag(out, "--start-within", kept.get("--advance-min", "0") + ":" + to);
    add_flag(out, "--start-by", "turns");
    add_note(out, "--advance-max " + to +
                      ": the warm-up sends the turn before each start, which primes the prefix "
                      "that the tool leaves cold");
}

void finish_kv_body(const KeptFlags& kept, Spelled& out) {
    constexpr struct {
        std::string_view typed;
        std::string_view member;
    } sampling[] = {{"--temperature", "temperature"},
                    {"--top-p", "top_p"},
                    {"--top-k", "top_k"},
                    {"--repetition-penalty", "repetition_penalty"}};
    std::string members;
    for (const auto& [typed, member] : sampling) {
        if (kept.has(typed)) {
            extend_members(members, member, kept.get(typed));
        }
    }
    add_members(out, members);
    if (kept.has("--no-max-tokens")) {
        add_flag(out, "--output", "free");
    }
    if (kept.has("--debug-trace")) {
        add_flag(out, "--save-responses", "all");
        add_note(out,
                 "--debug-trace is taken as --save-responses all; --save-prompts FILE writes "
                 "what is sent");
    }
    finish_tokenizer(kept, out);
}

/// Decoded tokens a second are the inverse of the time per token.
void finish_goodput(const KeptFlags& kept, Spelled& out) {
    std::string limits;
    if (kept.has("--slo-ttft")) {
        limits = "ttft:" + milliseconds_text(kept.get("--slo-ttft"));
    }
    if (kept.has("--slo-decode-tps")) {
        limits +=
            (limits.empty() ? "tpot:" : " tpot:") + interval_text(kept.get("--slo-decode-tps"));
    }
    if (!limits.empty()) {
        add_flag(out, "--goodput", limits);
        add_note(out, "--slo-ttft, --slo-decode-tps are taken as --goodput \"" + limits + "\"");
    }
}

/// Of the input the tool counts what it expects no cache to hold.
void finish_budgets(const KeptFlags& kept, Spelled& out) {
    constexpr struct {
        std::string_view typed;
        std::string_view ours;
        std::string_view behind;
    } budgets[] = {{"--itpm-budget", "--budget-input", "/m:uncached"},
                   {"--otpm-budget", "--budget-output", "/m"}};
    for (const auto& [typed, ours, behind] : budgets) {
        const std::string tokens = kept.get(typed, "0");
        if (is_positive(tokens)) {
            add_flag(out, ours, tokens + std::string(behind));
            add_note(out, std::string(typed) + " " + tokens + " is taken as " + std::string(ours) +
                              " " + tokens + std::string(behind) +
                              ": rows wait in order, while the tool's users retry at random; a "
                              "request above the budget is sent when the bucket is full");
        } else if (kept.has(typed)) {
            add_note(out, std::string(typed) + " 0 is ignored: nothing is held back");
        }
    }
}

void finish_pace(const KeptFlags& kept, Spelled& out) {
    if (const std::string scale = kept.get("--time-scale", "1"); is_positive(scale)) {
        const std::string speed = inverse_text(nano_of(scale));
        if (speed.empty()) {
            refuse_line(out, "--time-scale \"" + scale + "\": " + no_inverse);
        } else if (speed != "1") {
            add_flag(out, "--speed", speed);
        }
    } else {
        refuse_line(out, "--time-scale \"" + scale + "\": " + no_inverse);
    }
    if (const std::string cap = kept.get("--max-concurrent-requests", "0"); is_positive(cap)) {
        add_flag(out, "--max-inflight", cap);
    } else if (kept.has("--max-concurrent-requests")) {
        add_note(out, "--max-concurrent-requests 0 is ignored: nothing is held back");
    }
    // The time to think is what is left between the end of an answer and the next request.
    const std::string strategy = kept.get("--timing-strategy", "think-only");
    add_default(out, "--gap", strategy == "think-only" ? "end-to-start" : strategy);
    if (!has_argument(out, "--gap-cap")) {
        add_flag(out, "--gap-cap", "600");
        add_note(out,
                 "--max-delay is not given: the tool's 600 s are taken as --gap-cap 600 (its "
                 "branch agentx-minimized has 60 s)");
    }
}

/// What the tool does without a flag, where driftless does something else.
void finish_kv(const KeptFlags& kept, Spelled& out) {
    finish_users(kept, out);
    finish_seed(kept, out);
    finish_start(kept, out);
    finish_kv_body(kept, out);
    finish_goodput(kept, out);
    finish_budgets(kept, out);
    finish_pace(kept, out);
    add_default(out, "--session-order", "shuffle");
    add_default(out, "--on-failure", "continue");
    add_note(out,
             "as in the tool: trees are drawn in a seeded order (--session-order shuffle), and a "
             "failed turn does not end its tree (--on-failure continue)");
    add_note(out,
             "unlike the tool: traces of any context length are used, prompts share what block ids "
             "say (--warm-prefix-pct 0), a sub-agent does not count as a user, and a tree of "
             "sub-agents is replaced when all of it has ended");
}

}  // namespace

const ToolTable& kv_cache_tester_table() {
    static constexpr ToolTable table{kv_flags, finish_kv};
    return table;
}

// The flags of benchmarks of servers: `vllm bench serve`, SGLang's bench_serving, GuideLLM.

// The flags of `vllm bench serve` (0.32.0: benchmarks/serve.py and benchmarks/datasets), but for
// those of rates and of synthetic data sets, which several tools share.

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

// The flags of `python3 -m sglang.bench_serving` (0.5.23: benchmark/serving.py), but for those of
// rates and of synthetic data sets, which several tools share.

namespace {

constexpr const char* one_thread = "one thread sends, and its lateness is in every record";

constexpr ToolFlag sglang_flags[] = {
    {"--speed-bench-category|--speed-bench-output-len|--agentic-max-turns|--image-count|"
     "--image-resolution|--image-format|--image-content",
     Values::one, Becomes::nothing, other_set},
    {"--random-image-count", Values::none, Becomes::nothing, other_set},
    {"--dataset-offset", Values::one, Becomes::refused,
     "every row counts from the first; --start T leaves out rows before a time", "0"},
    {"--served-model-name", Values::one, Becomes::together},
    {"--tokenizer", Values::one, Becomes::together},
    {"--sharegpt-output-len", Values::one, Becomes::together},
    {"--sharegpt-context-len", Values::one, Becomes::flag, "--max-context"},
    {"--output-file", Values::one, Becomes::nothing, in_the_folder},
    {"--output-details", Values::none, Becomes::nothing, in_the_folder},
    {"--print-requests", Values::none, Becomes::nothing,
     "--save-prompts FILE writes bodies, --save-responses N answers"},
    {"--disable-stream", Values::none, Becomes::flag, "--no-stream"},
    {"--return-logprob", Values::none, Becomes::together},
    {"--top-logprobs-num", Values::one, Becomes::together},
    {"--token-ids-logprob", Values::many, Becomes::together},
    {"--logprob-start-len", Values::one, Becomes::together},
    {"--return-routed-experts", Values::none, Becomes::together},
    {"--cache-report", Values::none, Becomes::nothing,
     "cached tokens are always read if the server reports them"},
    {"--disable-ignore-eos", Values::none, Becomes::together},
    {"--temperature", Values::one, Becomes::together},
    {"--top-p", Values::one, Becomes::together},
    {"--extra-request-body", Values::one, Becomes::together},
    {"--apply-chat-template", Values::none, Becomes::together},
    {"--profile|--profile-by-stage|--pd-separated", Values::none, Becomes::nothing, by_event},
    {"--profile-activities|--profile-stages|--profile-prefill-url|--profile-decode-url",
     Values::many, Becomes::nothing, by_event},
    {"--profile-start-step|--profile-steps|--profile-num-steps|--profile-output-dir|"
     "--profile-prefix",
     Values::one, Becomes::nothing, by_event},
    {"--plot-throughput", Values::none, Becomes::nothing,
     "periods.jsonl has the throughput over time"},
    {"--lora-name", Values::many, Becomes::refused, no_adapters},
    {"--lora-request-distribution", Values::one, Becomes::refused, no_adapters, "uniform"},
    {"--lora-zipf-alpha", Values::one, Becomes::nothing, "requests name no adapters"},
    {"--prompt-suffix", Values::one, Becomes::refused,
     "prompts have exactly the requested lengths; remove it"},
    {"--flush-cache", Values::none, Becomes::flag, "--reset-cache"},
    {"--flush-cache-timeout", Values::one, Becomes::nothing,
     "use --reset-cache, which also checks that the cache is empty"},
    {"--warmup-requests", Values::one, Becomes::nothing, no_warm_up},
    {"--tokenize-prompt", Values::none, Becomes::together},
    {"--gsp-send-routing-key", Values::none, Becomes::refused,
     "synthetic rows have no key; --session-headers agentx sends session ids to routers"},
    {"--fake-prefill", Values::none, Becomes::together},
    {"--tag", Values::one, Becomes::together},
    {"--header", Values::many, Becomes::together},
    {"--rust-client", Values::none, Becomes::nothing, one_thread},
    {"--rust-worker-threads", Values::one, Becomes::nothing, one_thread},
};

/// Its default API is its own, at its own port.
void finish_server(Spelled& out) {
    const std::string typed = argument_of(out, "--api");
    if (typed.empty() || typed == "sglang-native") {
        set_argument(out, "--api", "sglang");
    } else if (typed == "lmdeploy" || typed == "lmdeploy-chat") {
        set_argument(out, "--api", typed == "lmdeploy" ? "openai-completions" : "openai-chat");
    }
    add_default_server(out, typed == "vllm" ? "8000" : typed == "lmdeploy" ? "23333" : "30000");
}

/// Of its own API the parameters of sampling are in an object, which a member would replace.
void finish_sampling(const KeptFlags& kept, std::string& members, Spelled& out) {
    const std::string temperature = kept.get("--temperature", "0");
    const std::string top = kept.get("--top-p", "1");
    if (argument_of(out, "--api") != "sglang") {
        if (kept.has("--temperature")) {
            extend_members(members, "temperature", temperature);
        }
        if (kept.has("--top-p")) {
            extend_members(members, "top_p", top);
        }
    } else if (is_positive(temperature) || (top != "1" && top != "1.0")) {
        refuse_line(out,
                    "--temperature and --top-p: requests to the sglang API ask for greedy answers; "
                    "use --backend sglang-oai");
    } else {
        note_unused(kept, {"--temperature", "--top-p"},
                    "requests to the sglang API ask for greedy answers anyway", out);
    }
}

void finish_sglang_body(const KeptFlags& kept, Spelled& out) {
    std::string members;
    finish_sampling(kept, members, out);
    const bool own = argument_of(out, "--api") == "sglang";
    const std::string top = kept.get("--top-logprobs-num", "0");
    if (!own || !kept.has("--return-logprob")) {
        note_unused(kept, {"--logprob-start-len", "--token-ids-logprob"},
                    "it needs --return-logprob and the sglang API", out);
    }
    if (!kept.has("--return-logprob") || (!own && top == "0")) {
        note_unused(kept, {"--top-logprobs-num", "--return-logprob"}, "each implies the other",
                    out);
    }
    if (kept.has("--return-logprob") && own) {
        extend_members(members, "return_logprob", "true");
        extend_members(members, "top_logprobs_num", top);
        extend_members(members, "logprob_start_len", kept.get("--logprob-start-len", "-1"));
    } else if (kept.has("--return-logprob") && top != "0") {
        extend_members(members, "logprobs", top);
    }
    if (kept.has("--token-ids-logprob") && kept.has("--return-logprob") && own) {
        std::string ids = kept.get("--token-ids-logprob");
        for (char& c : ids) {
            c = c == ' ' ? ',' : c;
        }
        members +=
            (members.empty() ? "" : ",") + std::string("\"token_ids_logprob\":[") + ids + "]";
    }
    if (kept.has("--return-routed-experts")) {
        extend_members(members, "return_routed_experts", "true");
    }
    if (kept.has("--fake-prefill")) {
        extend_members(members, "bootstrap_host", "2.2.2.2");
        extend_members(members, "bootstrap_room", "0");
    }
    add_members_beside(out, members, kept.get("--extra-request-body"));
}

void finish_sglang(const KeptFlags& kept, Spelled& out) {
    finish_server(out);
    finish_sglang_body(kept, out);
    finish_serving(kept, out);
    if (kept.has("--apply-chat-template")) {
        add_note(out, argument_of(out, "--api").ends_with("chat")
                          ? "--apply-chat-template is ignored: the server applies its template"
                          : "--apply-chat-template is ignored: prompts are words without a "
                            "template; --backend sglang-oai-chat has the server apply its own");
    }
    if (kept.has("--disable-ignore-eos")) {
        add_default(out, "--output", "cap");
    }
    if (kept.has("--tokenize-prompt")) {
        add_default(out, "--prompt", "ids");
    }
    if (kept.has("--tag")) {
        add_flag(out, "--label", "tag=" + kept.get("--tag"));
    }
}

}  // namespace

const ToolTable& sglang_table() {
    static constexpr ToolTable table{sglang_flags, finish_sglang};
    return table;
}

// The flags of `guidellm benchmark`: 0.8.1 (cli/run.py, where most are KIND=..,KEY=..) and 0.5
// (src/guidellm/__main__.py, one flag for each), but for those of profiles, rates and data.

namespace {

constexpr const char* by_the_engine = "the engine thread builds prompts ahead of time";
constexpr const char* every_row =
    "the figures cover every row; use the instants in the records to leave some out";
constexpr const char* as_flags =
    "use flags for its members: --api-key, --header, --extra-body, --timeout-total";
constexpr const char* one_run =
    "one run has one load; start one run per load, or use driftless sweep";

constexpr ToolFlag guidellm_flags[] = {
    {"--config|--scenario|-c", Values::one, Becomes::refused,
     "scenario files are not read; give their flags instead"},
    {"--label|-l", Values::one, Becomes::flag, "--label"},
    {"--override", Values::many, Becomes::refused, one_run},
    {"--per-constraints", Values::one, Becomes::refused, one_run},
    {"--disable-console|--disable-console-outputs", Values::none, Becomes::flag, "--quiet"},
    {"--disable-console-interactive|--disable-progress", Values::none, Becomes::flag,
     "--no-progress"},
    {"--backend-type", Values::one, Becomes::refused, "use --url and --api", "openai_http|openai"},
    {"--backend-kwargs|--backend-args", Values::one, Becomes::refused, as_flags, "{}"},
    {"--request-formatter-kwargs", Values::one, Becomes::refused, as_flags, "{}"},
    {"--tokenizer", Values::one, Becomes::together},
    {"--processor-args", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer"},
    {"--data-samples", Values::one, Becomes::together},
    {"--data-column-mapper", Values::one, Becomes::refused,
     "name columns with --map time=COLUMN,in=COLUMN,out=COLUMN",
     "kind=generative_column_mapper|{}"},
    {"--data-preprocessor", Values::one, Becomes::refused,
     "prompts are sent as recorded, or generated; remove it", "kind=encode_media"},
    {"--data-finalizer", Values::one, Becomes::refused, "use --api", "kind=generative"},
    {"--data-sampler", Values::one, Becomes::refused,
     "rows keep their order, and synthetic rows are random anyway; remove it"},
    {"--data-loader|--dataloader-kwargs", Values::one, Becomes::together},
    {"--data-num-workers", Values::one, Becomes::nothing, by_the_engine},
    {"--seed", Values::one, Becomes::together},
    {"--output|--output-path|--output-extras|--output-formats", Values::one, Becomes::nothing,
     in_the_folder},
    {"--metrics", Values::one, Becomes::nothing,
     "all figures are always computed; use --goodput \"ttft:MS tpot:MS\" for limits"},
    {"--warmup|--warmup-percent|--cooldown|--cooldown-percent", Values::one, Becomes::nothing,
     every_row},
    {"--sample-requests|--output-sampling", Values::one, Becomes::nothing,
     "every row has a record; --save-responses N keeps answers"},
    {"--display-scheduler-stats", Values::none, Becomes::nothing, in_the_folder},
    {"--max-errors", Values::one, Becomes::together},
    {"--max-error-rate|--max-global-error-rate", Values::one, Becomes::together},
    {"--over-saturation", Values::one, Becomes::refused, no_saturation},
    {"--detect-saturation|--default-over-saturation", Values::none, Becomes::refused,
     no_saturation},
};

/// "kind=static,value=42", JSON, or the seed alone.
std::string seed_of(const std::string& text) {
    const std::string value = config_value(text, "value");
    return value.empty() && text.find('=') == text.npos ? text : value;
}

/// "kind=pytorch,samples=1000": rows are the first so many.
void finish_loader(const KeptFlags& kept, Spelled& out) {
    const std::string loader = kept.get("--data-loader");
    const std::string samples = config_value(loader, "samples");
    if (config_value(loader, "shuffle") == "true") {
        refuse_line(out, "--data-loader \"" + loader +
                             "\": rows keep the order of the file; remove shuffle");
    } else if (!samples.empty() && samples != "-1") {
        add_default(out, "--limit", samples);
    } else if (!loader.empty()) {
        add_note(out, "--data-loader " + loader + " is ignored: " + by_the_engine);
    }
}

void finish_guidellm(const KeptFlags& kept, Spelled& out) {
    if (const std::string api = argument_of(out, "--api");
        api == "openai_http" || api == "openai") {
        set_argument(out, "--api", "openai-chat");
    }
    finish_loader(kept, out);
    if (const std::string seed = seed_of(kept.get("--seed")); !seed.empty()) {
        add_flag(out, "--seed", seed);
    }
    if (const std::string samples = kept.get("--data-samples"); samples == "-1") {
        add_note(out, "--data-samples -1 is ignored: all samples are the default");
    } else if (!samples.empty()) {
        add_flag(out, "--limit", samples);
    }
    if (kept.get("--tokenizer").starts_with("kind=")) {
        add_note(out, "--tokenizer " + kept.get("--tokenizer") +
                          " is ignored: words of one token each need none; --tokenizer FILE takes "
                          "the model's own");
    } else {
        finish_tokenizer(kept, out);
    }
    if (kept.has("--max-errors")) {
        add_flag(out, "--stop-when", "failed >= " + kept.get("--max-errors"));
    }
    if (kept.has("--max-error-rate")) {
        add_flag(out, "--stop-when", "errors >= " + kept.get("--max-error-rate"));
    }
}

}  // namespace

const ToolTable& guidellm_table() {
    static constexpr ToolTable table{guidellm_flags, finish_guidellm};
    return table;
}

}  // namespace driftless
