#include "cmd/replay/flags/foreign_flags.hpp"

#include <algorithm>
#include <iterator>

namespace driftless {

namespace {

constexpr const char* own_thread = "the engine thread builds prompts ahead of time";
constexpr const char* streamed = "answers are streamed unless --no-stream is given";
constexpr const char* in_the_folder = "records and summary are always in the run's folder";
constexpr const char* every_percentile = "the summary has P25 to P99.9 of every metric";
constexpr const char* goodput_instead = "use --goodput \"ttft:MS tpot:MS\"";

constexpr IgnoredFlag ignored[] = {
    {"--fixed-schedule", false, recorded_schedule_reason},
    {"--fixed-schedule-auto-offset", false, recorded_schedule_reason},
    {"--use-trace-timestamps", false, recorded_schedule_reason},
    {"--mooncake-workload", true, "the trace is the given file"},
    {"--streaming", false, streamed},
    {"--stream", false, streamed},
    {"--save-result", false, in_the_folder},
    {"--summary-path", true, in_the_folder},
    {"--outputs", true, in_the_folder},
    {"--num-producer", true, own_thread},
    {"--channel-capacity", true, own_thread},
    {"--threads", true, own_thread},
    {"--workers-max", true, own_thread},
    {"--tokenizer-config", true, "tokenizer.json has all that is needed"},
    {"--processor", true,
     "words of one token each need no tokenizer; --tokenizer FILE takes the model's own"},
    {"--metric-percentile", true, every_percentile},
    {"--metric-percentiles", true, every_percentile},
    {"--percentile-metrics", true, every_percentile},
    {"--ignore-eos", false, "the default, --output exact, sends it"},
    {"--save-detailed", false, in_the_folder},
    {"--append-result", false, in_the_folder},
    {"--result-dir", true, in_the_folder},
    {"--result-filename", true, in_the_folder},
    {"--profile-export-prefix", true, in_the_folder},
    {"--export-level", true, in_the_folder},
    {"--trust-remote-code", false, "driftless runs no code from a model's repository"},
    {"--disable-tqdm", false, "use --no-progress"},
    {"--ttft-slo", true, goodput_instead},
    {"--tpot-slo", true, goodput_instead},
    {"--early-stop-error-threshold", true, "failures are counted, and the run continues"},
    {"--ui", true, "progress is one line; --no-progress turns it off"},
    {"--ui-type", true, "progress is one line; --no-progress turns it off"},
};

constexpr RewrittenFlag rewritten[] = {
    {"--ignore-trace-delays", "--gap", "none"},
    {"--use-end-to-start-delays", "--gap", "end-to-start"},
    {"--use-think-time-only", "--gap", "end-to-start"},
};

/// Flags that would change the load, and what to do instead.
struct Refused {
    std::string_view typed;
    const char* why;
};
constexpr const char* write_rate =
    "--rate R sends R requests per second; without it, requests are sent at their recorded "
    "instants";
constexpr Refused refused_flags[] = {
    {"--num-users",
     "its meaning differs between tools; --users N keeps N sessions with their sub-agents live, "
     "each turn sent when the last one has ended; --concurrency N keeps N single rows open; "
     "--max-inflight N holds rows back while N are open"},
    {"--no-fixed-schedule",
     "requests follow the recorded schedule; --rate R sends them at a rate, --speed X changes the "
     "recorded pace (2 is twice as fast)"},
    {"--temperature", "use --extra-body '{\"temperature\":0.7}', which adds members to every body"},
    {"--top-p", "use --extra-body '{\"top_p\":0.9}', which adds members to every body"},
    {"--extra-inputs", "use --extra-body JSON, which adds members to every body"},
    {"--spawn-rate", "use --user-ramp T, the time until all --users have begun"},
    {"--qps", write_rate},
    {"--rps", write_rate},
    {"--user-centric-rate",
     "it spaces the turns of each user; --rate R sends R requests per second, --users N keeps N "
     "sessions live"},
};

}  // namespace

const IgnoredFlag* find_ignored_flag(std::string_view typed) {
    const auto found = std::find_if(std::begin(ignored), std::end(ignored),
                                    [typed](const IgnoredFlag& one) { return one.typed == typed; });
    return found == std::end(ignored) ? nullptr : found;
}

const RewrittenFlag* find_rewritten_flag(std::string_view typed) {
    const auto found =
        std::find_if(std::begin(rewritten), std::end(rewritten),
                     [typed](const RewrittenFlag& one) { return one.typed == typed; });
    return found == std::end(rewritten) ? nullptr : found;
}

const char* why_refused_flag(std::string_view typed) {
    const auto found = std::find_if(std::begin(refused_flags), std::end(refused_flags),
                                    [typed](const Refused& one) { return one.typed == typed; });
    return found == std::end(refused_flags) ? nullptr : found->why;
}

}  // namespace driftless
