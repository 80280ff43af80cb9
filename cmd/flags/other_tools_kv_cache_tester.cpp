/// The flags of kv-cache-tester's trace_replay_tester.py: those of its branch main (94f6046d), then
/// those that the branches agentx (InferenceX pull request 993) and agentx-minimized add.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

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

}  // namespace driftless
