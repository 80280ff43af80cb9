// AIPerf's AgentX scenario runs as its tutorial and InferenceX spell it.
#include <gtest/gtest.h>

#include <algorithm>

#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

Words profile(Words flags) {
    flags.insert(flags.begin(), {"aiperf", "profile"});
    return flags;
}

/// Without the server that is looked for where none is named.
Words own_words(const Words& flags) {
    const Words server{"--host", "127.0.0.1", "--port", "8000"};
    Words words = spell(profile(flags)).arguments;
    const auto at = std::search(words.begin(), words.end(), server.begin(), server.end());
    if (at != words.end()) {
        words.erase(at, at + 4);
    }
    return words;
}

bool has_note(const Spelled& out, const std::string& begin) {
    return std::any_of(out.notes.begin(), out.notes.end(),
                       [&](const std::string& note) { return note.starts_with(begin); });
}

// ai-dynamo/aiperf, docs/tutorials/agentx-mvp.md, with the corpus as a folder.
const Words tutorial = words_of(
    "--scenario inferencex-agentx-mvp --url localhost:8000 --model M --max-context-length 128000 "
    "--endpoint-type chat --public-dataset semianalysis_cc_traces_weka_with_subagents "
    "--concurrency 32 --use-server-token-count --streaming --extra-inputs ignore_eos:true "
    "--cache-bust first_turn_prefix --system-idle-gap-cap-seconds 10 --trajectory-start-min-ratio "
    "0.0 --trajectory-start-max-ratio 1.0 --benchmark-duration 1800 --random-seed 20260707 --ui "
    "simple");

TEST(Aiperf, AgentxTutorial) {
    Words command = profile(tutorial);
    command.insert(command.end(), {"--input-file", "traces"});
    const Spelled out = spell(command);
    EXPECT_EQ(out.refused, "");
    EXPECT_EQ(out.arguments, words_of("--url localhost:8000 --model M --max-context 128000 --api "
                                      "chat --system-idle-cap 10 --seed 20260707 traces --users 32 "
                                      "--for 1800 --start-within 0.0:1.0 --rules agentx-mvp"));
    for (const char* flag :
         {"--concurrency 32 is taken as --users 32", "--public-dataset", "--extra-inputs",
          "--cache-bust", "--use-server-token-count", "--streaming is ignored", "--ui"}) {
        EXPECT_TRUE(has_note(out, flag)) << flag;
    }
    const ReplayCommandLine line = parse_replay_options(command, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 32U);
    EXPECT_TRUE(line.options.workload.users.recycle);
}

// The name of a data set is not a file: where none is given, it is said how to get one.
TEST(Aiperf, SaysHowToGetADataSet) {
    const ReplayCommandLine line = parse_replay_options(profile(tutorial), "");
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::refused);
    EXPECT_TRUE(says(line.text, "semianalysisai/cc-traces-weka-062126 --local-dir traces"));
    EXPECT_TRUE(says(line.text, "--input-file traces"));
    const Spelled small =
        spell(profile({"--public-dataset", "semianalysis_cc_traces_weka_061526_256k"}));
    EXPECT_TRUE(says(small.trace_missing, "semianalysisai/cc-traces-weka-061526-256k "));
    const auto missing = [](const char* flag, const char* name) {
        return spell(profile({flag, name})).trace_missing;
    };
    const std::string oldest = "semianalysisai/cc-traces-weka-no-subagents-051826 ";
    EXPECT_TRUE(says(missing("--public-dataset", "semianalysis_cc_traces_weka"), oldest));
    EXPECT_TRUE(
        says(missing("--public-dataset", "semianalysis_cc_traces_weka_no_subagents"), oldest));
    EXPECT_TRUE(says(missing("--hf-weka-dataset", "me/mine"), "dataset me/mine "));
    for (const char* other : {"sharegpt", "exgentic_v2", "h_cua_perf"}) {
        EXPECT_FALSE(says(missing("--public-dataset", other), "hf download"));
        EXPECT_TRUE(says(missing("--public-dataset", other), "--input-file FILE"));
    }
}

// SemiAnalysisAI/InferenceX, benchmarks/benchmark_lib.sh, build_replay_cmd; the trace comes first.
TEST(Aiperf, InferencexReplayCommand) {
    const Words command = profile(words_of(
        "traces --scenario inferencex-agentx-mvp --url http://localhost:8888 --endpoint "
        "/v1/chat/completions --endpoint-type chat --streaming --model SERVED --tokenizer org/HF "
        "--concurrency 8 --benchmark-duration 3600 --stats-interval 30 --random-seed 42 "
        "--failed-request-threshold 0.10 --trajectory-start-min-ratio 0.25 "
        "--trajectory-start-max-ratio 0.75 --warmup-requests-per-lane 10 "
        "--trace-idle-gap-cap-seconds 300 --warmup-grace-period 1800 --use-server-token-count "
        "--no-gpu-telemetry --tokenizer-trust-remote-code --max-context-length 131072 "
        "--num-dataset-entries 393 --slice-duration 1.0 --server-metrics http://a:1/metrics "
        "http://b:1/metrics --output-artifact-dir D/aiperf_artifacts --unsafe-override "
        "--public-dataset semianalysis_cc_traces_weka_062126"));
    EXPECT_EQ(spell(command).arguments,
              words_of("traces --url http://localhost:8888 --endpoint /v1/chat/completions --api "
                       "chat --model SERVED --seed 42 --warmup-requests 10 --tree-idle-cap 300 "
                       "--max-context 131072 --out D/aiperf_artifacts --max-trees 393 --users 8 "
                       "--for 3600 --start-within 0.25:0.75 --period 1.0 --rules agentx-mvp"));
    const ReplayCommandLine line = parse_replay_options(command, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
}

// InferenceX pull request 993 on LMCache's traces: no scenario, users all the same.
TEST(Aiperf, ConcurrencyIsUsersUnlessTheScheduleIsRecorded) {
    EXPECT_EQ(
        own_words(words_of("--input-file F --custom-dataset-type mooncake_trace --concurrency 4 "
                           "--benchmark-duration 60 --benchmark-grace-period 0")),
        words_of("F --format mooncake-delta --users ..4 --for 60 --drain 0 --recycle"));
    EXPECT_EQ(own_words(words_of(
                  "--input-file F --fixed-schedule --concurrency=4 --benchmark-duration 60")),
              words_of("F --max-inflight 4 --duration 60"));
    EXPECT_NE(spell(profile({"--concurrency", "4,8"})).refused, "");
    EXPECT_EQ(spell(words_of("t --concurrency 4")).arguments, words_of("t --concurrency 4"))
        << "no tool is named";
    EXPECT_EQ(own_words(words_of("--input-file F --custom-dataset-type raw_payload"))[2],
              "mooncake");
    EXPECT_EQ(
        own_words(words_of("--input-file F --custom-dataset-type burst_gpt_trace --concurrency 4")),
        words_of("F --format burstgpt --concurrency 4"))
        << "rows without sessions";
}

// docs/tutorials/arrival-patterns.md, ramping.md: beside a rate the number of requests is a cap.
TEST(Aiperf, Rates) {
    EXPECT_EQ(own_words(words_of(
                  "--input-file F --request-rate 50 --arrival-pattern gamma --arrival-smoothness "
                  "0.5 --concurrency 100 --benchmark-duration 60 --random-seed 42")),
              words_of("F --seed 42 --rate 50 --arrivals gamma:0.5 --max-inflight 100 --duration "
                       "60 --replicate rows:3637"));
    EXPECT_EQ(own_words({"F", "--request-rate", "5"}), (Words{"F", "--rate", "5"}));
    EXPECT_EQ(
        own_words(words_of(
            "F --request-rate 5 --request-rate-mode constant --request-rate-ramp-duration 10")),
        words_of("F --ramp 0:5:10 --arrivals constant"));
    EXPECT_NE(spell(profile({"--request-rate", "5", "--arrival-pattern", "other"})).refused, "");
}

// Slices of its results, or how often they are shown; ours beside them stands.
TEST(Aiperf, SlicesArePeriods) {
    EXPECT_EQ(own_words({"F", "--stats-interval", "30"}), (Words{"F", "--period", "30"}));
    const Spelled both =
        spell(profile({"F", "--url", "h", "--stats-interval", "30", "--slice-duration", "1.0"}));
    EXPECT_EQ(both.arguments, (Words{"F", "--url", "h", "--period", "1.0"}));
    EXPECT_TRUE(says(both.notes.back(), "--stats-interval 30 is ignored"));
    EXPECT_EQ(own_words(words_of("F --period 5s --slice-duration 1")), words_of("F --period 5s"));
    EXPECT_EQ(own_words({"F", "--stats-interval", "0"}), Words{"F"});
}

TEST(Aiperf, RefusesWhatWouldBeAnotherLoad) {
    for (const Words& flags :
         {Words{"--scenario", "other"}, Words{"--cache-bust", "none"},
          Words{"--synthesis-max-isl", "9"}, Words{"--agentic-cache-warmup-duration", "9"},
          Words{"--burst-phase-starts"}, Words{"--use-dynamo-conv-aware-routing"},
          Words{"--extra-inputs", "nothing"}, Words{"--request-rate-ramp-duration", "3"},
          Words{"--trajectory-start-min-ratio", "0.5"}}) {
        EXPECT_TRUE(spell(profile(flags)).refused.starts_with(flags[0])) << flags[0];
    }
    EXPECT_EQ(own_words(words_of("F --extra-inputs a:1 b:x --streaming")),
              (Words{"F", "--extra-body", R"({"a":1,"b":"x"})"}));
}

// A data set that is too short is gone through again, with and without an end by time.
TEST(Aiperf, GoesRoundItsDataSet) {
    const Words file{"--input-file", "t.jsonl", "--custom-dataset-type", "mooncake_trace"};
    const auto with = [&file](Words flags) {
        flags.insert(flags.begin(), file.begin(), file.end());
        return own_words(flags);
    };
    const Words begin{"t.jsonl", "--format", "mooncake-delta"};
    const auto expected = [&begin](Words flags) {
        flags.insert(flags.begin(), begin.begin(), begin.end());
        return flags;
    };
    EXPECT_EQ(with(words_of("--request-rate 50 --request-count 100")),
              expected(words_of("--limit 100 --rate 50 --replicate rows:100")));
    EXPECT_EQ(with(words_of("--no-fixed-schedule --concurrency 4 --request-count 100")),
              expected(words_of("--limit 100 --users ..4 --replicate rows:100")));
    EXPECT_EQ(with(words_of("--concurrency 4 --benchmark-duration 2")),
              expected(words_of("--users ..4 --for 2 --recycle")));
    EXPECT_EQ(
        with(words_of("--request-rate 50 --request-rate-mode constant --benchmark-duration 2")),
        expected(words_of("--rate 50 --arrivals constant --duration 2 --replicate rows:101")));
    EXPECT_EQ(with({"--no-fixed-schedule"}), expected({"--concurrency", "1"}));
    EXPECT_EQ(with({"--fixed-schedule", "--request-count", "100"}), expected({"--limit", "100"}));
}

}  // namespace
}  // namespace driftless
