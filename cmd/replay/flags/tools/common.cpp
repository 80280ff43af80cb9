/// Flags that mean the same in every tool that has them: names for a flag of ours, flags that
/// change no request here, flags that would change the load.
#include "cmd/replay/flags/tools/tool_flags.hpp"

namespace driftless {

namespace {

constexpr const char* own_thread = "the engine thread builds prompts ahead of time";
constexpr const char* write_rate =
    "--rate R sends R requests per second; without it, requests are sent at their recorded "
    "instants";

constexpr ToolFlag flags[] = {
    {trace_flags, Values::one, Becomes::flag, ""},
    {"--base-url|-u|--target", Values::one, Becomes::flag, "--url"},
    {"--endpoint-type|--request-type", Values::one, Becomes::flag, "--api"},
    {"--model-name|-m", Values::one, Becomes::flag, "--model"},
    {"--scale-factor", Values::one, Becomes::flag, "--speed"},
    {"--num-prompts|--max-requests|--request-count|--num-requests|--data-samples", Values::one,
     Becomes::flag, "--limit"},
    {"--time-in-secs|-t|--max-seconds|--benchmark-duration|--run-time", Values::one, Becomes::flag,
     "--duration"},
    {"--benchmark-grace-period", Values::one, Becomes::flag, "--grace"},
    {"-o|--output-dir|--artifact-dir|--output-artifact-dir", Values::one, Becomes::flag, "--out"},
    {"--random-seed", Values::one, Becomes::flag, "--seed"},
    {"--isl-block-size|--prompt-input-tokens-block-size", Values::one, Becomes::flag,
     "--block-size"},
    {"--request-timeout-seconds|--request-timeout", Values::one, Becomes::flag, "--timeout-total"},
    {"--max-delay|--inter-turn-delay-cap-seconds", Values::one, Becomes::flag, "--gap-cap"},
    {"--timing-strategy", Values::one, Becomes::flag, "--gap"},
    {"--fixed-schedule|--fixed-schedule-auto-offset|--use-trace-timestamps", Values::none,
     Becomes::nothing, recorded_schedule_reason},
    {"--mooncake-workload", Values::one, Becomes::nothing, "the trace is the given file"},
    {"--streaming|--stream", Values::none, Becomes::nothing,
     "answers are streamed unless --no-stream is given"},
    {"--save-result|--save-detailed|--append-result", Values::none, Becomes::nothing,
     in_the_folder},
    {"--summary-path|--outputs|--result-dir|--result-filename|--profile-export-prefix|"
     "--export-level",
     Values::one, Becomes::nothing, in_the_folder},
    {"--num-producer|--channel-capacity|--threads|--workers-max", Values::one, Becomes::nothing,
     own_thread},
    {"--tokenizer-config", Values::one, Becomes::nothing, "tokenizer.json has all that is needed"},
    {"--processor", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer; --tokenizer FILE takes the model's own"},
    {"--metric-percentile|--metric-percentiles|--percentile-metrics", Values::one, Becomes::nothing,
     "the summary has P25 to P99.9 of every metric"},
    {"--ignore-eos", Values::none, Becomes::nothing, "the default, --output exact, sends it"},
    {"--trust-remote-code", Values::none, Becomes::nothing,
     "driftless runs no code from a model's repository"},
    {"--disable-tqdm", Values::none, Becomes::nothing, "use --no-progress"},
    {"--ttft-slo|--tpot-slo", Values::one, Becomes::nothing, "use --goodput \"ttft:MS tpot:MS\""},
    {"--early-stop-error-threshold", Values::one, Becomes::nothing,
     "failures are counted, and the run continues"},
    {"--ui|--ui-type", Values::one, Becomes::nothing,
     "progress is one line; --no-progress turns it off"},
    {"--ignore-trace-delays", Values::none, Becomes::flag, "--gap none"},
    {"--use-end-to-start-delays|--use-think-time-only", Values::none, Becomes::flag,
     "--gap end-to-start"},
    {"--no-open-loop-replay", Values::none, Becomes::flag, "--sessions closed"},
    {"--num-users", Values::none, Becomes::refused,
     "its meaning differs between tools; --users N keeps N sessions with their sub-agents live, "
     "each turn sent when the last one has ended; --concurrency N keeps N single rows open; "
     "--max-inflight N holds rows back while N are open"},
    {"--no-fixed-schedule", Values::none, Becomes::refused,
     "requests follow the recorded schedule; --rate R sends them at a rate, --speed X changes the "
     "recorded pace (2 is twice as fast)"},
    {"--time-scale", Values::none, Becomes::refused,
     "means slower in one tool and faster in another; use --speed X, where 2 is twice as fast"},
    {"--temperature", Values::none, Becomes::refused,
     "use --extra-body '{\"temperature\":0.7}', which adds members to every body"},
    {"--top-p", Values::none, Becomes::refused,
     "use --extra-body '{\"top_p\":0.9}', which adds members to every body"},
    {"--extra-inputs", Values::none, Becomes::refused,
     "use --extra-body JSON, which adds members to every body"},
    {"--spawn-rate", Values::none, Becomes::refused,
     "use --user-ramp T, the time until all --users have begun"},
    {"--qps|--rps", Values::none, Becomes::refused, write_rate},
    {"--user-centric-rate", Values::none, Becomes::refused,
     "it spaces the turns of each user; --rate R sends R requests per second, --users N keeps N "
     "sessions live"},
};

}  // namespace

std::span<const ToolFlag> common_flags() {
    return flags;
}

}  // namespace driftless
