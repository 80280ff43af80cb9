/// The flags of `aiperf profile` for a closed loop: those of its AgentX scenario, as its tutorial
/// and InferenceX's build_replay_cmd give them. A recorded schedule is left to the common tables.

#include <algorithm>
#include <array>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

constexpr const char* metrics_by_url =
    "/metrics of each --url is read automatically; add other pages with --metrics URL";
constexpr const char* by_header =
    "routers get session ids in headers, not in bodies; use --session-headers agentx";
constexpr const char* not_cut =
    "lengths stay as recorded; --max-context N leaves out trees that have a longer request";
constexpr const char* no_other_warm_up =
    "the warm-up has a fixed number of requests; use --warmup-requests-per-lane N";

constexpr ToolFlag flags[] = {
    {"--scenario", Values::one, Becomes::together},
    {"--unsafe-override", Values::none, Becomes::nothing,
     "rules are only reported; --require-rules enforces them"},
    {"--concurrency|--session-concurrency", Values::one, Becomes::together},
    {"--concurrency-ramp-duration", Values::one, Becomes::flag, "--user-ramp"},
    {"--request-rate", Values::one, Becomes::together},
    {"--request-rate-mode", Values::one, Becomes::together},
    {"--request-rate-ramp-duration", Values::one, Becomes::together},
    {"--arrival-pattern", Values::one, Becomes::together},
    {"--arrival-smoothness|--vllm-burstiness", Values::one, Becomes::together},
    {"--fixed-schedule", Values::none, Becomes::together},
    {"--no-fixed-schedule", Values::none, Becomes::together},
    {"--benchmark-duration", Values::one, Becomes::together},
    {"--benchmark-grace-period", Values::one, Becomes::together},
    {"--public-dataset", Values::one, Becomes::together},
    {"--hf-weka-dataset", Values::one, Becomes::together},
    {"--max-context-length", Values::one, Becomes::flag, "--max-context"},
    {"--num-dataset-entries|--num-prompts|--num-payloads", Values::one, Becomes::together},
    {"--trajectory-start-min-ratio", Values::one, Becomes::together},
    {"--trajectory-start-max-ratio", Values::one, Becomes::together},
    {"--warmup-requests-per-lane", Values::one, Becomes::flag, "--warmup-requests"},
    {"--warmup-grace-period", Values::one, Becomes::nothing,
     "warm-up requests have the same timeouts as all others"},
    {"--agentic-cache-warmup-duration", Values::one, Becomes::refused, no_other_warm_up},
    {"--burst-phase-starts", Values::none, Becomes::refused,
     "primers are spread so that all starts coincide; remove it"},
    {"--system-idle-gap-cap-seconds", Values::one, Becomes::flag, "--system-idle-cap"},
    {"--trace-idle-gap-cap-seconds", Values::one, Becomes::flag, "--tree-idle-cap"},
    {"--cache-bust", Values::one, Becomes::refused,
     "trees of different passes or runs share no blocks anyway (--recycle, --cache-salt random), "
     "without a marker in prompts; use first_turn_prefix",
     "first_turn_prefix"},
    {"--extra-inputs", Values::many, Becomes::together},
    {"--synthesis-max-isl", Values::one, Becomes::refused, not_cut},
    {"--synthesis-max-osl", Values::one, Becomes::refused, not_cut},
    {"--failed-request-threshold", Values::one, Becomes::nothing,
     "failures do not end the run; --rules compares their share"},
    {"--stats-interval", Values::one, Becomes::together},
    {"--slice-duration", Values::one, Becomes::together},
    {"--use-server-token-count", Values::none, Becomes::nothing,
     "the server's counts are always used if it reports them"},
    {"--no-gpu-telemetry", Values::none, Becomes::nothing, "there are none here"},
    {"--server-metrics", Values::many, Becomes::nothing, metrics_by_url},
    {"--tokenizer", Values::one, Becomes::together},
    {"--tokenizer-trust-remote-code", Values::none, Becomes::nothing,
     "driftless runs no code from a model's repository"},
    {"--allow-dataset-wrap", Values::none, Becomes::flag, "--recycle"},
    {"--use-dynamo-conv-aware-routing", Values::none, Becomes::refused, by_header},
    {"--dynamo-session-timeout-seconds", Values::one, Becomes::refused, by_header},
};

struct Scenario {
    std::string_view name;
    std::string_view rules;
};
constexpr std::array scenarios{Scenario{"inferencex-agentx-mvp", "agentx-mvp"},
                               Scenario{"agentx", "agentx"}};

void finish_scenario(const std::string& name, Spelled& out) {
    for (const Scenario& one : scenarios) {
        if (one.name == name) {
            add_default(out, "--rules", one.rules);
            out.typed_as.emplace_back("--rules", "--scenario");
            add_note(out, "--scenario " + name + " is taken as --rules " + std::string(one.rules));
            return;
        }
    }
    refuse_line(out, "--scenario " + name +
                         ": is not known here; use inferencex-agentx-mvp or agentx (--rules)");
}

/// The repository of a data set by AIPerf's name for it (0.13.0, plugins.yaml):
/// "semianalysis_cc_traces_weka_062126_256k". Empty: it is not a Weka trace.
std::string repository_of(const std::string& dataset) {
    struct Alias {
        std::string_view name;
        std::string_view stands_for;
    };
    constexpr Alias aliases[] = {{"", "_no_subagents_051826"},
                                 {"_no_subagents", "_no_subagents_051826"},
                                 {"_with_subagents", "_062126"},
                                 {"_with_subagents_256k", "_062126_256k"}};
    constexpr std::string_view begin = "semianalysis_cc_traces_weka";
    if (!dataset.starts_with(begin)) {
        return dataset.find('/') == dataset.npos ? "" : dataset;
    }
    std::string name = dataset.substr(begin.size());
    for (const Alias& one : aliases) {
        if (name == one.name) {
            name = one.stands_for;
            break;
        }
    }
    std::replace(name.begin(), name.end(), '_', '-');
    return "semianalysisai/cc-traces-weka" + name;
}

/// A name of a data set is not a file: it is only believed beside one.
void finish_dataset(const KeptFlags& kept, Spelled& out) {
    const bool named = kept.has("--hf-weka-dataset");
    const std::string flag = named ? "--hf-weka-dataset" : "--public-dataset";
    const std::string name = kept.get(flag);
    if (name.empty()) {
        return;
    }
    const std::string repository = repository_of(name);
    add_note(out, flag + " " + name + " is assumed to apply to the given trace");
    out.trace_missing =
        flag + " " + name + ": driftless downloads nothing; " +
        (repository.empty()
             ? "of AIPerf's data sets it reads the Weka traces; for another one, write its request "
               "bodies to a file, one a line, and add --input-file FILE"
             : "fetch it (hf download --repo-type dataset " + repository +
                   " --local-dir traces), then add --input-file traces");
}

/// `--input-file payload:FILE` of GenAI-Perf is a trace; `synthetic:` is none.
void finish_input_file(Spelled& out) {
    constexpr std::string_view payload = "payload:";
    for (std::string& one : out.arguments) {
        if (one.starts_with(payload)) {
            one.erase(0, payload.size());
        } else if (one.starts_with("synthetic:")) {
            refuse_line(
                out, "--input-file " + one + ": embeddings and rankings are not sent; remove it");
        }
    }
}

/// `ignore_eos:true`, several of them, or a JSON object.
void finish_inputs(std::string text, Spelled& out) {
    if (text.starts_with('{')) {
        add_flag(out, "--extra-body", text);
        return;
    }
    std::string members;
    while (!text.empty()) {
        const std::string pair = text.substr(0, text.find_first_of(" ,"));
        text.erase(0, pair.size() + 1);
        const std::size_t colon = pair.find(':');
        if (colon == pair.npos) {
            refuse_line(out, "--extra-inputs \"" + pair + "\": is not NAME:VALUE or a JSON object");
            return;
        }
        if (pair == "ignore_eos:true") {
            add_note(
                out,
                "--extra-inputs ignore_eos:true is ignored: the default, --output exact, sends it");
            continue;
        }
        extend_members(members, pair.substr(0, colon), pair.substr(colon + 1));
    }
    add_members(out, members);
}

void finish_start(const KeptFlags& kept, Spelled& out) {
    const bool from = kept.has("--trajectory-start-min-ratio");
    const bool to = kept.has("--trajectory-start-max-ratio");
    if (!from && !to) {
        return;
    }
    if (from != to && !kept.has("--scenario")) {
        refuse_line(out,
                    "--trajectory-start-min-ratio and --trajectory-start-max-ratio are the ends of "
                    "one range; give both");
        return;
    }
    add_flag(out, "--start-within",
             kept.get("--trajectory-start-min-ratio", "0") + ":" +
                 kept.get("--trajectory-start-max-ratio", "1"));
}

/// The law of its gaps; empty: Poisson, its default.
std::string law_of(const KeptFlags& kept, Spelled& out) {
    const std::string_view flag =
        kept.has("--arrival-pattern") ? "--arrival-pattern" : "--request-rate-mode";
    const bool smooth = kept.has("--arrival-smoothness") && !kept.has(flag);
    const std::string pattern = kept.get(flag, smooth ? "gamma" : "poisson");
    if (pattern == "gamma") {
        return "gamma:" + kept.get("--arrival-smoothness", "1");
    }
    if (pattern != "poisson" && pattern != "constant") {
        refuse_line(out, std::string(flag) + " " + pattern +
                             ": is not known here; use constant, poisson or gamma (--arrivals)");
    }
    return pattern == "poisson" ? "" : pattern;
}

/// Requests a second; its ramp begins near 0.
void finish_rate(const KeptFlags& kept, Spelled& out) {
    const std::string rate = kept.get("--request-rate");
    const std::string ramp = kept.get("--request-rate-ramp-duration");
    if (rate.empty() && !ramp.empty()) {
        refuse_line(out, "--request-rate-ramp-duration " + ramp + ": also needs --request-rate");
    }
    if (rate.empty()) {
        note_unused(kept, {"--request-rate-mode", "--arrival-pattern", "--arrival-smoothness"},
                    "no --request-rate is given", out);
        return;
    }
    const std::string law = law_of(kept, out);
    if (ramp.empty()) {
        add_flag(out, "--rate", rate);
        out.typed_as.emplace_back("--rate", "--request-rate");
    } else {
        out.typed_as.emplace_back("--ramp", "--request-rate-ramp-duration");
        add_flag(out, "--ramp", "0:" + rate + ":" + ramp);
    }
    if (!law.empty() && rate != "inf") {
        add_default(out, "--arrivals", law);
    }
}

/// Formats whose rows have no sessions that could be live.
bool is_single_turn(const Spelled& out) {
    return is_one_of("burstgpt|azure", argument_of(out, "--format"));
}

/// A number of sessions, or rows, that are live; beside a schedule or a rate, a cap.
void finish_load(const KeptFlags& kept, Spelled& out) {
    const bool open = kept.has("--fixed-schedule") || kept.has("--request-rate");
    const bool closed =
        !open && (kept.has("--concurrency") || kept.has("--no-fixed-schedule") || out.makes_rows);
    out.goes_round = !kept.has("--fixed-schedule") && !kept.has("--scenario");
    const std::string users = kept.get("--concurrency", "1");
    const char* const loop = is_single_turn(out) || out.makes_rows ? "--concurrency" : "--users";
    finish_rate(kept, out);
    if (is_one_of("mooncake-delta|qwen|burstgpt", argument_of(out, "--format")) &&
        !kept.has("--fixed-schedule") && !kept.has("--no-fixed-schedule") &&
        (kept.has("--request-rate") || kept.has("--concurrency"))) {
        add_note(out,
                 "AIPerf follows the timestamps of such a trace unless --no-fixed-schedule is "
                 "given; here the load is that of the flags, and --fixed-schedule follows them");
    }
    if (kept.has("--fixed-schedule")) {
        add_note(out,
                 "--fixed-schedule is ignored: requests always follow the recorded schedule, "
                 "from its first row");
    }
    if (kept.has("--no-fixed-schedule")) {
        add_note(out, "--no-fixed-schedule is taken as it is: recorded instants do not count");
    }
    if (users.find(',') != users.npos) {
        refuse_line(
            out, "--concurrency " + users +
                     ": one run has one number of users; give one, and start one run per number");
    } else if (kept.has("--concurrency")) {
        const std::string flag = closed ? loop : "--max-inflight";
        const bool is_bound = flag == "--users" && !kept.has("--scenario");
        add_flag(out, flag, (is_bound ? ".." : "") + users);
        out.typed_as.emplace_back(flag, "--concurrency");
        const std::string taken =
            flag == "--concurrency" ? "" : " is taken as " + flag + " " + users;
        add_note(out, "--concurrency " + users + taken +
                          (flag == "--users" ? ": that many session trees are live"
                           : flag == "--concurrency"
                               ? ": that many rows are open, and one is sent when another has ended"
                               : ": rows wait while that many are open"));
    } else if (closed) {
        add_flag(out, "--concurrency", users);
        add_note(out,
                 "neither --concurrency nor --request-rate is given: sending one row at a time, as "
                 "AIPerf does");
    }
    if (kept.has("--benchmark-duration")) {
        add_flag(out, closed ? "--for" : "--duration", kept.get("--benchmark-duration"));
        out.typed_as.emplace_back(closed ? "--for" : "--duration", "--benchmark-duration");
    }
    if (kept.has("--benchmark-grace-period")) {
        add_flag(out, closed ? "--drain" : "--grace", kept.get("--benchmark-grace-period"));
        out.typed_as.emplace_back("--drain", "--benchmark-grace-period");
    }
}

/// Slices of its results, or how often they are shown: lines of periods.jsonl.
void finish_period(const KeptFlags& kept, Spelled& out) {
    const std::string_view typed =
        kept.has("--slice-duration") ? "--slice-duration" : "--stats-interval";
    const std::string length = kept.get(typed);
    if (is_positive(length)) {
        add_default(out, "--period", length);
        add_note(out, std::string(typed) + " " + length + " is taken as --period " + length);
    } else if (!length.empty()) {
        add_note(out, std::string(typed) + " " + length + " is ignored: it is not a period");
    }
    if (kept.has("--slice-duration") && kept.has("--stats-interval")) {
        add_note(out, "--stats-interval " + kept.get("--stats-interval") +
                          " is ignored: periods.jsonl has a line per --slice-duration");
    }
}

/// How many different prompts there are. Its own synthetic ones come again where there are fewer
/// than requests.
void finish_entries(const KeptFlags& kept, Spelled& out) {
    const std::string entries = kept.get("--num-dataset-entries");
    if (!entries.empty() && !out.makes_rows) {
        add_flag(out, "--max-trees", entries);
        out.typed_as.emplace_back("--max-trees", "--num-dataset-entries");
    } else if (!entries.empty()) {
        add_note(out, "--num-dataset-entries " + entries +
                          " is ignored: each row has its own prompt; AIPerf's prompts repeat after "
                          "that many requests");
    }
    const std::string order = kept.get("--dataset-sampling-strategy", "sequential");
    if (order != "sequential" && !out.makes_rows) {
        refuse_line(out, "--dataset-sampling-strategy " + order +
                             ": rows keep the order of the file, as with sequential; remove it");
    } else if (kept.has("--dataset-sampling-strategy")) {
        add_note(out, "--dataset-sampling-strategy " + order +
                          " is ignored: it changes nothing "
                          "here");
    }
}

/// `time_to_first_token:200 inter_token_latency:50`, in ms.
void finish_goodput(std::string limits, Spelled& out) {
    constexpr std::string_view names[][2] = {{"time_to_first_token", "ttft"},
                                             {"inter_token_latency", "tpot"},
                                             {"request_latency", "e2e"},
                                             {"ttft", "ttft"},
                                             {"tpot", "tpot"},
                                             {"e2e", "e2e"}};
    std::string ours;
    while (!limits.empty()) {
        const std::string limit = limits.substr(0, limits.find(' '));
        limits.erase(0, limit.size() + 1);
        const std::size_t colon = std::min(limit.find(':'), limit.size());
        const auto known = std::find_if(std::begin(names), std::end(names), [&](const auto& one) {
            return one[0] == limit.substr(0, colon);
        });
        if (known == std::end(names)) {
            refuse_line(out,
                        "--goodput \"" + limit +
                            "\" is not known here; use time_to_first_token, inter_token_latency or "
                            "request_latency, in ms, as in time_to_first_token:200");
            return;
        }
        ours += (ours.empty() ? "" : " ") + std::string((*known)[1]) + limit.substr(colon);
    }
    if (!ours.empty()) {
        add_flag(out, "--goodput", ours);
    }
}

/// Connections, readiness, cancelled requests, lengths.
void finish_requests(const KeptFlags& kept, Spelled& out) {
    const std::string reuse = kept.get("--connection-reuse-strategy", "pooled");
    if (reuse == "never" || reuse == "sticky-user-sessions") {
        add_flag(out, "--connection", reuse == "never" ? "fresh" : "sticky");
    } else if (reuse != "pooled") {
        refuse_line(
            out,
            "--connection-reuse-strategy " + reuse +
                ": is not known here; use pooled, never or sticky-user-sessions (--connection)");
    }
    if (is_positive(kept.get("--wait-for-model-timeout"))) {
        add_flag(out, "--wait-ready", kept.get("--wait-for-model-timeout"));
    }
    if (is_positive(kept.get("--request-cancellation-rate"))) {
        const std::string delay = kept.get("--request-cancellation-delay", "0");
        if (!is_positive(delay)) {
            refuse_line(
                out, "--request-cancellation-rate with a --request-cancellation-delay of " + delay +
                         ": a request cannot be cancelled at once here; give a time above 0");
        }
        add_flag(out, "--abandon",
                 kept.get("--request-cancellation-rate") + "%:" + delay + ".." + delay);
    }
    if (!is_positive(kept.get("--request-cancellation-rate"))) {
        note_unused(kept, {"--request-cancellation-delay"}, "no request is cancelled", out);
    }
    if (kept.has("--no-force-min-tokens")) {
        add_default(out, "--output", "cap");
    }
    if (kept.has("--use-legacy-max-tokens")) {
        add_default(out, "--length-field", "max_tokens");
    }
}

void finish(const KeptFlags& kept, Spelled& out) {
    if (std::count(out.arguments.begin(), out.arguments.end(), "--model") > 1) {
        refuse_line(out, std::string("--model is given 2 times: ") + no_adapters);
    }
    finish_input_file(out);
    finish_requests(kept, out);
    finish_entries(kept, out);
    finish_goodput(kept.get("--goodput"), out);
    finish_load(kept, out);
    finish_start(kept, out);
    finish_dataset(kept, out);
    finish_inputs(kept.get("--extra-inputs"), out);
    finish_tokenizer(kept, out);
    finish_period(kept, out);
    if (kept.has("--scenario")) {
        finish_scenario(kept.get("--scenario"), out);
    }
    add_default_server(out, "8000");
}

}  // namespace

const ToolTable& aiperf_table() {
    static const ToolTable table{flags, finish, aiperf_other_flags()};
    return table;
}

// The flags of `aiperf profile` (0.13.0: config/flags/cli_config.py) and `genai-perf profile`
// (0.0.16: parser.py) that say nothing of a closed loop or of a rate: most change no request.

namespace {

constexpr const char* text_only = "prompts are text: images, audio and video are not sent";
constexpr const char* unused_media = "there are none: prompts are text";
constexpr const char* one_run =
    "one run has one load; driftless find searches for a limit, driftless sweep runs several loads";
constexpr const char* no_repeats = "a run is not repeated; driftless sweep repeats it";
constexpr const char* not_judged = "driftless does not judge answers";
constexpr const char* no_upload =
    "nothing is uploaded; driftless report RUN writes other formats, including OpenTelemetry";
constexpr const char* no_services = "one process sends, measures and writes";
constexpr const char* not_changed =
    "a trace is not resampled while it is replayed; driftless synth like TRACE makes one of "
    "another size";
constexpr const char* by_conversations =
    "turns that wait for answers are not supported here; generate them with driftless synth chat";
constexpr const char* no_rankings = "driftless does not speak that API";
constexpr const char* by_count =
    "a run ends with its rows or at a time; use --request-count N or --benchmark-duration T";

constexpr ToolFlag other_flags[] = {
    {"--model-names|--model|-m", Values::many, Becomes::flag, "--model"},
    {"--url|--urls|-u", Values::many, Becomes::flag, "--url"},
    {"--service-kind", Values::one, Becomes::nothing, "--endpoint-type sets the API"},
    {"--model-selection-strategy", Values::one, Becomes::nothing, "a run has one model"},
    {"--custom-endpoint", Values::one, Becomes::flag, "--endpoint"},
    {"--url-strategy", Values::one, Becomes::refused, "use --balance turn or session",
     "round_robin"},
    {"--wait-for-model-timeout", Values::one, Becomes::together},
    {"--wait-for-model-mode|--wait-for-model-interval", Values::one, Becomes::nothing,
     "a server that answers counts as ready"},
    {"--reset-kv-cache", Values::none, Becomes::flag, "--reset-cache"},
    {"--reset-kv-cache-timeout-seconds|--reset-kv-cache-path", Values::one, Becomes::nothing,
     "use --reset-cache, which knows how to empty each server's cache and checks the result"},
    {"--server-profiler", Values::none, Becomes::nothing, by_event},
    {"--server-profiler-timeout-seconds|--server-profiler-start-path|--server-profiler-stop-path",
     Values::one, Becomes::nothing, by_event},
    {"--transport|--transport-type", Values::one, Becomes::refused,
     "requests use HTTP/1.1; remove it", "http|aiohttp"},
    {"--use-legacy-max-tokens", Values::none, Becomes::together},
    {"--per-chunk-usage", Values::none, Becomes::flag, "--continuous-usage"},
    {"--connection-reuse-strategy", Values::one, Becomes::together},
    {"--download-video-content", Values::none, Becomes::refused, text_only},
    {"--request-content-type", Values::one, Becomes::refused, "bodies are JSON; remove it",
     "application/json"},
    {"--session-header", Values::one, Becomes::refused,
     "--session-headers agentx sends what AIPerf sends by default"},
    {"--uuid-and-strip", Values::none, Becomes::nothing, unused_media},
    {"--tokenizer-revision", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer"},
    {"--apply-chat-template", Values::none, Becomes::nothing,
     "it counts tokens; the tokens that the server's template adds are probed"},
    {"-H", Values::one, Becomes::flag, "--header"},
    {"--goodput|-g", Values::many, Becomes::together},
    {"--backend", Values::one, Becomes::nothing, "--endpoint-type sets the API"},
    {"--hf-subset", Values::one, Becomes::refused,
     "driftless downloads nothing; fetch the data set, then give --input-file"},
    {"--dataset-filter", Values::many, Becomes::refused,
     "driftless downloads nothing; fetch the data set, then give --input-file"},
    {"--dataset-sampling-strategy", Values::one, Becomes::together},
    {"--trace-session-sample-ratio", Values::one, Becomes::flag, "--sample-sessions"},
    {"--config|-f", Values::one, Becomes::refused,
     "its files are not read; give the flags instead"},
    {"--conversation-turn-mean|--session-turns-mean", Values::one, Becomes::refused,
     by_conversations, "1|1.0"},
    {"--conversation-turn-stddev|--session-turns-stddev", Values::one, Becomes::refused,
     by_conversations, "0|0.0"},
    {"--conversation-turn-delay-mean|--session-turn-delay-mean|--conversation-turn-delay-stddev|"
     "--session-turn-delay-stddev",
     Values::one, Becomes::nothing, "synthetic rows have one turn"},
    {"--conversation-turn-delay-ratio|--session-delay-ratio", Values::one, Becomes::refused,
     "gaps keep their recorded lengths; --gap-cap T limits them, --speed X divides all times",
     "1|1.0"},
    {"--max-idle-gap-cap-seconds", Values::one, Becomes::refused,
     "--gap-cap T limits the gaps of sessions, --system-idle-cap T those of --users"},
    {"--replay-speedup", Values::one, Becomes::flag, "--speed"},
    {"--open-loop-replay|--open-loop-strict", Values::none, Becomes::nothing,
     "rows are sent at their recorded instants"},
    {"--omit-kv-hints", Values::none, Becomes::nothing, "bodies carry no such hints"},
    {"--force-min-tokens", Values::none, Becomes::nothing,
     "the default, --output exact, asks for the recorded lengths"},
    {"--no-force-min-tokens", Values::none, Becomes::together},
    {"--prompt-batch-size|--batch-size-text|--batch-size|-b", Values::one, Becomes::refused,
     "requests have one prompt each; remove it", "1"},
    {"--prompt-corpus", Values::one, Becomes::nothing, "prompts are words of one token each"},
    {"--system-prompt|--system-prompt-file", Values::one, Becomes::refused,
     "prompts have exactly the requested lengths; --shared-system-prompt-length N shares N tokens"},
    {"--user-context-prompt-length", Values::one, Becomes::refused,
     "each row has its own prompt; add the tokens to the input length"},
    {"--synthetic-input-tokens-block-size", Values::one, Becomes::flag, "--block-size"},
    {"--seq-dist|--sequence-distribution", Values::one, Becomes::refused,
     "draw such lengths with driftless synth random --in file:HISTOGRAM --out-tokens "
     "file:HISTOGRAM"},
    {"--audio-length-mean|--image-width-mean|--image-height-mean|--video-width|--video-height",
     Values::one, Becomes::refused, text_only, "0|0.0"},
    {"--audio-batch-size|--batch-size-audio|--audio-length-stddev|--audio-format|"
     "--audio-num-channels|--image-width-stddev|--image-height-stddev|--image-batch-size|"
     "--batch-size-image|--image-format|--image-source|--image-source-sampling|--video-batch-size|"
     "--batch-size-video|--video-duration|--video-fps|--video-synth-type|--video-format|"
     "--video-codec|--video-audio-sample-rate|--video-audio-num-channels|--video-audio-codec|"
     "--video-audio-depth",
     Values::one, Becomes::nothing, unused_media},
    {"--audio-depths|--audio-sample-rates", Values::many, Becomes::nothing, unused_media},
    {"--rankings-passages-mean|--rankings-passages-stddev|--rankings-passages-prompt-token-mean|"
     "--rankings-passages-prompt-token-stddev|--rankings-query-prompt-token-mean|"
     "--rankings-query-prompt-token-stddev",
     Values::one, Becomes::nothing, no_rankings},
    {"--synthesis-speedup-ratio", Values::one, Becomes::refused,
     "use --speed X, where 2 is twice as fast", "1|1.0"},
    {"--synthesis-prefix-len-multiplier|--synthesis-prefix-root-multiplier|"
     "--synthesis-prompt-len-multiplier|--synthesis-output-len-multiplier",
     Values::one, Becomes::refused, not_changed, "1|1.0"},
    {"--prefill-concurrency|--prefill-concurrency-ramp-duration", Values::one, Becomes::refused,
     "open rows are limited until their end; use --max-inflight N or --concurrency N"},
    {"--request-rate-series", Values::one, Becomes::refused,
     "use --shape FILE with lines SECONDS,RATE"},
    {"--warmup-request-count|--num-warmup-requests|--warmup-duration|--num-warmup-sessions|"
     "--warmup-concurrency|--warmup-prefill-concurrency|--warmup-request-rate|"
     "--warmup-arrival-pattern|--warmup-concurrency-ramp-duration|"
     "--warmup-prefill-concurrency-ramp-duration|--warmup-request-rate-ramp-duration",
     Values::one, Becomes::nothing, no_warm_up},
    {"--agentic-warmup-grace-period", Values::one, Becomes::nothing,
     "each request of the warm-up has the timeouts of all others"},
    {"--request-cancellation-rate", Values::one, Becomes::together},
    {"--request-cancellation-delay", Values::one, Becomes::together},
    {"--profile-export-file|--profile-export-level|--checkpoint-dir|--input-directory|-d",
     Values::one, Becomes::nothing, in_the_folder},
    {"--plot-required|--export-outputs-json|--export-http-trace|--show-trace-timing|"
     "--generate-plots|--enable-checkpointing",
     Values::none, Becomes::nothing, in_the_folder},
    {"--otel-url|--gen-ai-provider|--mlflow-tracking-uri|--mlflow-experiment|--mlflow-run-name|"
     "--mlflow-parent-run-id|--wandb-project|--wandb-entity|--wandb-run-name",
     Values::one, Becomes::nothing, no_upload},
    {"--stream|--otel-resource-attributes|--mlflow-tag|--mlflow-artifact-glob|--wandb-tag",
     Values::many, Becomes::nothing, no_upload},
    {"--no-server-metrics", Values::none, Becomes::nothing, "use --metrics URL"},
    {"--server-metrics-formats|--gpu-telemetry|--server-metrics-url|--server-metrics-urls",
     Values::many, Becomes::nothing, "records and summary are those of the client"},
    {"--network-latency-automatic", Values::none, Becomes::nothing,
     "stamps show what the client saw; nothing is subtracted"},
    {"--network-latency-mean|--network-latency-ping-interval", Values::one, Becomes::nothing,
     "stamps show what the client saw; nothing is subtracted"},
    {"--num-profile-runs", Values::one, Becomes::refused, no_repeats, "1"},
    {"--profile-run-cooldown-seconds|--confidence-level|--convergence-metric|--convergence-stat|"
     "--convergence-threshold|--convergence-mode|--parameter-sweep-cooldown-seconds|"
     "--parameter-sweep-mode",
     Values::one, Becomes::nothing, no_repeats},
    {"--sweep-type|--search-metric|--search-stat|--search-direction|--search-max-iterations|"
     "--search-initial-points|--search-random-seed|--search-planner|--optuna-sampler|"
     "--optuna-acquisition|--optuna-terminator|--search-percentile-pooling|--bo-constraint-mode|"
     "--search-recipe|--ttft-sla-ms|--isl-osl-pairs|--itl-sla-ms|--tpot-sla-ms|--e2e-sla-ms|"
     "--error-rate-sla|--slo-attainment-fraction|--search-style|--degradation-threshold|"
     "--degradation-metric-tag|--degradation-stat|--isl-min|--isl-max|--isl-steps|"
     "--concurrency-min|--concurrency-max|--concurrency-steps|--osl-min|--osl-max|--osl-steps|"
     "--sweep-range|--sweep-list",
     Values::one, Becomes::refused, one_run},
    {"--search-space|--variant|--sweep-variant|--search-sla|--search-sla-tier", Values::many,
     Becomes::refused, one_run},
    {"--no-sweep-table", Values::none, Becomes::nothing, no_repeats},
    {"--accuracy-benchmark|--accuracy-n-shots|--accuracy-grader|--accuracy-system-prompt",
     Values::one, Becomes::refused, not_judged},
    {"--accuracy-tasks", Values::many, Becomes::refused, not_judged},
    {"--accuracy-enable-cot|--accuracy-verbose", Values::none, Becomes::refused, not_judged},
    {"--log-level", Values::one, Becomes::nothing, "--table full shows every figure"},
    {"--verbose|-v|--extra-verbose|-vv", Values::none, Becomes::nothing,
     "--table full shows every figure"},
    {"--record-processor-service-count|--record-processors|--api-port|--api-host|--max-workers|"
     "--zmq-host|--zmq-ipc-path",
     Values::one, Becomes::nothing, no_services},
    {"--zmq-dual-bind", Values::none, Becomes::nothing, no_services},
    {"--measurement-interval|-p|--stability-percentage|-s", Values::one, Becomes::nothing,
     by_count},
    {"--output-tokens-mean-deterministic", Values::none, Becomes::nothing,
     "the default, --output exact, asks for exact lengths"},
    {"--grpc-method", Values::one, Becomes::refused, "requests use HTTP/1.1; remove it"},
};

}  // namespace

std::span<const ToolFlag> aiperf_other_flags() {
    return other_flags;
}

}  // namespace driftless
