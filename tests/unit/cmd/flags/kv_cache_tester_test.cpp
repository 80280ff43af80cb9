// Each flag of kv-cache-tester's trace_replay_tester.py is one of ours, noted, or refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

/// Behind the program and what it cannot do without.
Spelled spelled_with(Words flags) {
    Words command{"python", "trace_replay_tester.py", "--start-users", "4", "--max-users", "4"};
    command.insert(command.end(), flags.begin(), flags.end());
    return spell(command);
}

bool has_pair(const Words& arguments, const std::string& flag, const std::string& value) {
    const auto at = std::find(arguments.begin(), arguments.end(), flag);
    return at != arguments.end() && at + 1 != arguments.end() && at[1] == value;
}

bool any_note(const Spelled& out, const std::string& begin) {
    return std::any_of(out.notes.begin(), out.notes.end(),
                       [&](const std::string& note) { return note.starts_with(begin); });
}

struct Expected {
    const char* typed;
    const char* value;  ///< nullptr: it takes none
    const char* flag;   ///< ours; nullptr: it is noted; "refused"
    const char* ours = nullptr;
};

// agentic.md 2.2, in the order of the tool's own --help.
constexpr Expected of_main[] = {
    {"--api-endpoint", "http://h:1", "--url", "http://h:1"},
    {"--trace-directory", "traces", "traces", nullptr},
    {"--output-dir", "results", "--out", "results"},
    {"--max-ttft", "9999", nullptr},
    {"--ttft-metric", "p95", nullptr},
    {"--min-output-tokens-per-req", "10", nullptr},
    {"--start-users", "4", "--users", "4"},
    {"--max-users", "4", "--users", "4"},
    {"--recycle", nullptr, "--recycle"},
    {"--max-new-tokens-per-period", "999999999", nullptr},
    {"--max-working-set-tokens", "1000000", "refused"},
    {"--min-requests", "3", "refused"},
    {"--max-delay", "60", "--gap-cap", "60"},
    {"--time-scale", "0.5", "--speed", "2"},
    {"--timing-strategy", "think-only", "--gap", "end-to-start"},
    {"--api-time-scale", "0.2", nullptr},
    {"--test-duration", "1800", "--for", "1800"},
    {"--assessment-period", "30", "--period", "30"},
    {"--max-context", "128000", "refused"},
    {"--tokenizer", "Qwen/Qwen2.5-Coder-32B-Instruct", nullptr},
    {"--chunk-size", "64", nullptr},
    {"--no-color", nullptr, nullptr},
    {"--verbose", nullptr, nullptr},
    {"--skip-graphs", nullptr, nullptr},
    {"--seed", "42", "--seed", "42"},
    {"--trace-seed", "7", "--seed", "7"},
    {"--prompt-seed", "8", "--seed", "8"},
    {"--temperature", "0.7", "--extra-body", R"({"temperature":0.7})"},
    {"--top-p", "0.8", "--extra-body", R"({"top_p":0.8})"},
    {"--top-k", "20", "--extra-body", R"({"top_k":20})"},
    {"--repetition-penalty", "1.05", "--extra-body", R"({"repetition_penalty":1.05})"},
    {"--ttft-window", "3", nullptr},
    {"--rate-limit-backoff", "30", nullptr},
    {"--max-concurrent-requests", "20", "--max-inflight", "20"},
    {"--max-prefill-concurrent", "4", "refused"},
    {"--max-decode-concurrent", "4", "refused"},
    {"--otpm-budget", "1000", "--budget-output", "1000/m"},
    {"--itpm-budget", "1000", "--budget-input", "1000/m:uncached"},
    {"--slo-ttft", "5.0", "--goodput", "ttft:5000"},
    {"--slo-decode-tps", "30", "--goodput", "tpot:33.333333"},
    {"--fairness-window", "60", nullptr},
    {"--cache-max-age", "600", nullptr},
    {"--warm-prefix-pct", "0.5", "refused"},
    {"--advance-min", "0.1", nullptr},  // with --advance-max only
    {"--advance-max", "0.7", "--start-within", "0:0.7"},
    {"--advance-all-users", nullptr, nullptr},
    {"--max-consecutive-errors", "10", nullptr},
    {"--circuit-breaker-window", "30", nullptr},
};
constexpr Expected of_branches[] = {
    {"--hf-dataset", "semianalysisai/cc-traces-weka-042026", "refused"},
    {"--hf-split", "train", nullptr},
    {"--hash-block-mode", nullptr, nullptr},
    {"--debug-trace", nullptr, "--save-responses", "all"},
    {"--warmup-enabled", nullptr, nullptr},
    {"--metrics-output-prefix", "p", nullptr},
    {"--no-max-tokens", nullptr, "--output", "free"},
    {"--ignore-eos", nullptr, nullptr},
    {"--enable-request-rate-limiting", nullptr, "refused"},
};

void expect_each(std::span<const Expected> flags) {
    for (const Expected& one : flags) {
        const Spelled out =
            spelled_with(one.value == nullptr ? Words{one.typed} : Words{one.typed, one.value});
        const std::string flag = one.flag == nullptr ? "" : one.flag;
        if (flag == "refused") {
            EXPECT_TRUE(out.refused.starts_with(one.typed)) << one.typed << ": " << out.refused;
            continue;
        }
        EXPECT_EQ(out.refused, "") << one.typed;
        if (flag.empty()) {
            EXPECT_TRUE(std::find(out.arguments.begin(), out.arguments.end(), one.typed) ==
                        out.arguments.end())
                << one.typed;
            continue;
        }
        EXPECT_TRUE(one.ours == nullptr ? std::find(out.arguments.begin(), out.arguments.end(),
                                                    flag) != out.arguments.end()
                                        : has_pair(out.arguments, flag, one.ours))
            << one.typed << ": " << testing::PrintToString(out.arguments);
    }
}

TEST(KvCacheTester, TakesEachOfThe48FlagsOfMain) {
    EXPECT_EQ(std::size(of_main), 48U);
    expect_each(of_main);
}

TEST(KvCacheTester, TakesWhatItsBranchesAdd) {
    expect_each(of_branches);
}

// Nothing that has no effect goes without a line.
TEST(KvCacheTester, NotesWhatHasNoEffect) {
    for (const Expected& one : of_main) {
        const std::string typed = one.typed;
        if (one.flag != nullptr || typed.starts_with("--advance")) {
            continue;  // these say something together, below
        }
        const Spelled out =
            spelled_with(one.value == nullptr ? Words{typed} : Words{typed, one.value});
        EXPECT_TRUE(any_note(out, typed)) << typed;
    }
}

// InferenceX pull request 993, benchmarks/single_node/multiturn_fp8_h200_trace_replay.sh.
TEST(KvCacheTester, PullRequest993) {
    const Words command = words_of(
        "python3 /kv/trace_replay_tester.py --api-endpoint http://localhost:8888 --trace-directory "
        "traces_neon --timing-strategy think-only --output-dir R/trace_replay --start-users 8 "
        "--max-users 8 --max-ttft 9999 --test-duration 1800 --recycle --max-delay 60 "
        "--max-concurrent-requests 0 --max-new-tokens-per-period 999999999 --advance-min 0.0 "
        "--advance-max 0.7 --seed 42 --no-color --ignore-eos --hash-block-mode");
    EXPECT_EQ(
        spell(command).arguments,
        words_of("--url http://localhost:8888 traces_neon --out R/trace_replay --for 1800 "
                 "--recycle --gap-cap 60 --users 8 --seed 42 --start-within 0.0:0.7 --start-by "
                 "turns --gap end-to-start --session-order shuffle --on-failure continue"));
    EXPECT_EQ(spell(command).refused, "");
    const ReplayCommandLine line = parse_replay_options(command, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 8U);
}

// Users that are added while the run goes on, as the tool adds them.
TEST(KvCacheTester, AddsUsers) {
    const Words command{"trace_replay_tester.py", "--start-users", "2"};
    const Words grown = spell(command).arguments;
    EXPECT_TRUE(has_pair(grown, "--users", "2..50"));
    EXPECT_TRUE(has_pair(grown, "--grow", "ttft:avg:2.0s"));
    EXPECT_TRUE(has_pair(grown, "--period", "30s"));
    const ReplayCommandLine line = parse_replay_options(
        words_of(
            "trace_replay_tester.py --api-endpoint http://a:1 --trace-directory t --start-users=10 "
            "--max-users=100 --ttft-metric p95 --max-ttft 1.5 --assessment-period 15"),
        "");
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 100U);
    EXPECT_EQ(line.options.workload.users.users_first, 10U);
    EXPECT_EQ(text_of(*line.options.workload.grow), "ttft:p95:1500ms");
    EXPECT_EQ(line.options.results.period_ns, 15'000'000'000);
}

TEST(KvCacheTester, SaysWhatSeveralFlagsSayTogether) {
    EXPECT_TRUE(has_pair(spelled_with({"--slo-ttft", "0.5", "--slo-decode-tps", "100"}).arguments,
                         "--goodput", "ttft:500 tpot:10"));
    EXPECT_TRUE(has_pair(spelled_with({"--temperature", "0.7", "--top-k=20"}).arguments,
                         "--extra-body", R"({"temperature":0.7,"top_k":20})"));
    EXPECT_NE(spelled_with({"--trace-seed", "1", "--prompt-seed", "2"}).refused, "");
    EXPECT_NE(spelled_with({"--advance-max", "0.7", "--advance-all-users"}).refused, "");
    EXPECT_NE(spelled_with({"--time-scale", "0.3"}).refused, "");
    EXPECT_TRUE(has_pair(spelled_with({}).arguments, "--gap-cap", "600"));
    EXPECT_TRUE(has_pair(spelled_with({"--tokenizer", "/m/tokenizer.json"}).arguments,
                         "--tokenizer", "/m/tokenizer.json"));
}

// The same names without the program are as ever.
TEST(KvCacheTester, NamesGoByTheProgram) {
    EXPECT_NE(spell({"t", "--time-scale", "2"}).refused, "");
    EXPECT_EQ(spell({"t", "--seed", "1"}).arguments, (Words{"t", "--seed", "1"}));
    EXPECT_EQ(spell({"t", "--max-context", "9"}).arguments, (Words{"t", "--max-context", "9"}));
    EXPECT_NE(spell({"other.py", "--trace-path", "t", "--time-scale", "2"}).refused, "");
}

}  // namespace
}  // namespace driftless
