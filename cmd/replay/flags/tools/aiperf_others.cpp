/// The flags of `aiperf profile` (0.13.0: config/flags/cli_config.py) and `genai-perf profile`
/// (0.0.16: parser.py) that say nothing of a closed loop or of a rate: most change no request.
#include "cmd/replay/flags/tools/tool_flags.hpp"

namespace driftless {

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

constexpr ToolFlag flags[] = {
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
    return flags;
}

}  // namespace driftless
