/// What flags of kv-cache-tester's trace_replay_tester.py mean together.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

/// The tool adds users while the TTFT allows it; what pull request 993 uses keeps their number.
void finish_users(Line& line) {
    const std::string start = line.get("--start-users", "1");
    const std::string most = line.get("--max-users", "50");
    if (start == most) {
        add_default(line, "--users", start);
        if (line.has("--assessment-period")) {
            add_default(line, "--period", line.get("--assessment-period"));
        }
        for (const char* typed : {"--max-ttft", "--ttft-metric"}) {
            if (line.has(typed)) {
                add_note(line, std::string(typed) + " " + line.get(typed) +
                                   " is ignored: " + "the number of users does not change");
            }
        }
        return;
    }
    const std::string period = line.get("--assessment-period", "30");
    const std::string grow =
        "ttft:" + line.get("--ttft-metric", "avg") + ":" + line.get("--max-ttft", "2.0") + "s";
    add_default(line, "--users", start + ".." + most);
    add_default(line, "--grow", grow);
    add_default(line, "--period", period + "s");
    add_note(line, "--start-users " + start + ", --max-users " + most + " are taken as --users " +
                       start + ".." + most + " --grow " + grow + " --period " + period +
                       "s: users are added at the end of a period, at most every second one");
}

void finish_kv_seed(Line& line) {
    const std::string seed = line.get("--seed");
    const std::string trace = line.get("--trace-seed", seed);
    const std::string prompt = line.get("--prompt-seed", seed);
    if (trace != prompt && !trace.empty() && !prompt.empty()) {
        refuse_line(line, "--trace-seed " + trace + ", --prompt-seed " + prompt +
                              ": one seed draws both the order of the trees and the prompts; give "
                              "both the same value, or only --seed");
    } else if (!trace.empty() || !prompt.empty()) {
        add_default(line, "--seed", trace.empty() ? prompt : trace);
    }
}

/// A seeded place between two shares of a trace's requests; trees that follow begin at theirs.
void finish_kv_start(Line& line) {
    const std::string to = line.get("--advance-max", "0");
    if (!is_positive(to)) {
        return;
    }
    if (line.has("--advance-all-users")) {
        refuse_line(line,
                    "--advance-all-users: only the first tree of a user begins inside its "
                    "recording; recycled trees begin at their first request; remove it");
    }
    add_flag(line, "--start-within", line.get("--advance-min", "0") + ":" + to);
    add_flag(line, "--start-by", "turns");
    add_note(line, "--advance-max " + to +
                       ": the warm-up sends the turn before each start, which primes the prefix "
                       "that the tool leaves cold");
}

void finish_kv_body(Line& line) {
    add_members(line, members_of(line));
    if (line.has("--no-max-tokens")) {
        add_flag(line, "--output", "free");
    }
    if (line.has("--debug-trace")) {
        add_flag(line, "--save-responses", "all");
        add_note(line,
                 "--debug-trace is taken as --save-responses all; --save-prompts FILE writes "
                 "what is sent");
    }
    finish_tokenizer(line);
}

/// Decoded tokens a second are the inverse of the time per token.
void finish_kv_goodput(Line& line) {
    std::string limits;
    if (line.has("--slo-ttft")) {
        limits = "ttft:" + milliseconds_text(line.get("--slo-ttft"));
    }
    if (line.has("--slo-decode-tps")) {
        limits +=
            (limits.empty() ? "tpot:" : " tpot:") + interval_text(line.get("--slo-decode-tps"));
    }
    if (!limits.empty()) {
        add_flag(line, "--goodput", limits);
        add_note(line, "--slo-ttft, --slo-decode-tps are taken as --goodput \"" + limits + "\"");
    }
}

/// Of the input the tool counts what it expects no cache to hold.
void finish_budgets(Line& line) {
    constexpr struct {
        std::string_view typed;
        std::string_view ours;
        std::string_view behind;
    } budgets[] = {{"--itpm-budget", "--budget-input", "/m:uncached"},
                   {"--otpm-budget", "--budget-output", "/m"}};
    for (const auto& [typed, ours, behind] : budgets) {
        const std::string tokens = line.get(typed, "0");
        if (is_positive(tokens)) {
            add_flag(line, ours, tokens + std::string(behind));
            add_note(line, std::string(typed) + " " + tokens + " is taken as " + std::string(ours) +
                               " " + tokens + std::string(behind) +
                               ": rows wait in order, while the tool's users retry at random; a "
                               "request above the budget is sent when the bucket is full");
        } else if (line.has(typed)) {
            add_note(line, std::string(typed) + " 0 is ignored: nothing is held back");
        }
    }
}

void finish_pace(Line& line) {
    if (const std::string scale = line.get("--time-scale", "1"); is_positive(scale)) {
        const std::string speed = inverse_text(nano_of(scale));
        if (speed.empty()) {
            refuse_line(line, "--time-scale \"" + scale + "\": " + no_inverse);
        } else if (speed != "1") {
            add_flag(line, "--speed", speed);
        }
    } else {
        refuse_line(line, "--time-scale \"" + scale + "\": " + no_inverse);
    }
    if (const std::string cap = line.get("--max-concurrent-requests", "0"); is_positive(cap)) {
        add_flag(line, "--max-inflight", cap);
    } else if (line.has("--max-concurrent-requests")) {
        add_note(line, "--max-concurrent-requests 0 is ignored: nothing is held back");
    }
    // The time to think is what is left between the end of an answer and the next request.
    const std::string strategy = line.get("--timing-strategy", "think-only");
    add_default(line, "--gap", strategy == "think-only" ? "end-to-start" : strategy);
    if (!has_argument(line, "--gap-cap")) {
        add_flag(line, "--gap-cap", "600");
        add_note(line,
                 "--max-delay is not given: the tool's 600 s are taken as --gap-cap 600 (its "
                 "branch agentx-minimized has 60 s)");
    }
}

}  // namespace

/// What the tool does without a flag, where driftless does something else.
void finish_kv_cache_tester(Line& line) {
    finish_users(line);
    finish_kv_seed(line);
    finish_kv_start(line);
    finish_kv_body(line);
    finish_kv_goodput(line);
    finish_budgets(line);
    finish_pace(line);
    add_default(line, "--session-order", "shuffle");
    add_default(line, "--on-failure", "continue");
    add_note(line,
             "as in the tool: trees are drawn in a seeded order (--session-order shuffle), and a "
             "failed turn does not end its tree (--on-failure continue)");
    add_note(line,
             "unlike the tool: traces of any context length are used, prompts share what block ids "
             "say (--warm-prefix-pct 0), a sub-agent does not count as a user, and a tree of "
             "sub-agents is replaced when all of it has ended");
}

}  // namespace driftless
