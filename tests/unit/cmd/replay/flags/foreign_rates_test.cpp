// Rates and requests that are open at once, as other tools write them.
#include "cmd/replay/flags/foreign_rates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cmd/replay/flags/options.hpp"
#include "tests/unit/cmd/replay/flags/spelled.hpp"

namespace driftless {
namespace {

// `--rate` is requests a second; GuideLLM's replay profile alone stretches a trace by it.
TEST(ForeignRates, RateIsARateButInTheReplayProfile) {
    EXPECT_EQ(spelled({"t", "--url", "h", "--rate", "10"}),
              (Words{"t", "--url", "h", "--rate", "10"}));
    EXPECT_EQ(spelled({"t", "--url", "h", "--rate", "10", "--profile", "replay"}),
              (Words{"t", "--url", "h", "--speed", "0.1"}));
    EXPECT_EQ(spelled({"t", "--url", "h", "--rate-type=replay", "--rate", "0.5"}),
              (Words{"t", "--url", "h", "--speed", "2"}));
    EXPECT_EQ(refusal({"guidellm", "benchmark", "--data", "t", "--rate", "10"}),
              "--rate 10: its meaning depends on GuideLLM's --profile; add --profile constant, "
              "poisson, concurrent or replay");
    EXPECT_TRUE(refusal({"t", "--rate-type", "sweep"}).starts_with("--rate-type \"sweep\": "));
    EXPECT_NE(refusal({"t", "--url", "h", "--user-centric-rate=2"}), "");
    EXPECT_NE(refusal({"t", "--rate", "1", "--request-rate", "1"}), "");
}

// vllm bench: gaps that are stretched to the exact mean; with an infinite rate a closed loop.
TEST(ForeignRates, VllmRates) {
    const auto vllm = [](Words flags) {
        flags.insert(flags.begin(), {"vllm", "bench", "serve", "--url", "h", "--dataset-path", "t",
                                     "--backend", "openai"});
        const Words words = spelled(flags);
        EXPECT_GE(words.size(), 5U);
        return Words(words.begin() + 5, words.end());
    };
    EXPECT_EQ(vllm({"--request-rate", "10"}),
              (Words{"--rate", "10", "--arrivals", "poisson:scaled"}));
    EXPECT_EQ(vllm({"--request-rate", "10", "--burstiness", "0.5", "--max-concurrency", "64"}),
              (Words{"--rate", "10", "--arrivals", "gamma:0.5:scaled", "--max-inflight", "64"}));
    EXPECT_EQ(vllm({"--request-rate", "inf"}), (Words{"--rate", "inf"}));
    EXPECT_EQ(vllm({"--request-rate", "inf", "--max-concurrency", "8"}),
              (Words{"--concurrency", "8"}));
    EXPECT_EQ(vllm({"--max-concurrency", "8"}), (Words{"--max-inflight", "8"}));
    EXPECT_EQ(vllm({"--ramp-up-strategy", "linear", "--ramp-up-start-rps", "1", "--ramp-up-end-rps",
                    "20"}),
              (Words{"--ramp", "1:20:rows:linear"}));
    EXPECT_NE(refusal({"vllm", "bench", "serve", "--ramp-up-strategy", "linear"}), "");
}

// SGLang's gaps are not stretched; nor are those of a command line without a tool.
TEST(ForeignRates, OtherRates) {
    EXPECT_EQ(spelled({"python3", "-m", "sglang.bench_serving", "--url", "h", "--dataset-path", "t",
                       "--request-rate", "8", "--max-concurrency", "64"}),
              (Words{"--url", "h", "t", "--api", "sglang", "--rate", "8", "--max-inflight", "64"}));
    EXPECT_EQ(spelled({"t", "--url=h", "--request-rate", "8", "--burstiness", "2"}),
              (Words{"t", "--url", "h", "--rate", "8", "--arrivals", "gamma:2"}));
    EXPECT_EQ(spelled({"t", "--url", "h", "--num-concurrency", "8"}),
              (Words{"t", "--url", "h", "--concurrency", "8"}));
}

// GuideLLM: the profile says what its number is.
TEST(ForeignRates, GuidellmProfiles) {
    const auto guidellm = [](Words flags) {
        flags.insert(flags.begin(), {"guidellm", "run", "--target", "h", "--data", "t"});
        const Words words = spelled(flags);
        EXPECT_GE(words.size(), 3U);
        return Words(words.begin() + 3, words.end());
    };
    EXPECT_EQ(guidellm({"--profile", "kind=poisson,rate=16", "--constraint",
                        "kind=max_duration,seconds=60"}),
              (Words{"--duration", "60", "--rate", "16", "--replicate", "rows:1217"}));
    EXPECT_EQ(guidellm({"--rate-type", "constant", "--rate", "5"}),
              (Words{"--rate", "5", "--arrivals", "constant"}));
    EXPECT_EQ(guidellm({"--profile", "kind=constant,rate=5,rampup_duration=10"}),
              (Words{"--ramp", "0:5:10", "--arrivals", "constant"}));
    EXPECT_EQ(guidellm({"--profile", "concurrent", "--rate", "4", "--max-seconds", "30"}),
              (Words{"--for", "30", "--concurrency", "4", "--recycle"}));
    EXPECT_EQ(guidellm({"--profile", "synchronous"}), (Words{"--concurrency", "1"}));
    EXPECT_EQ(guidellm({"--profile", "kind=throughput,max_concurrency=9"}),
              (Words{"--concurrency", "9"}));
    EXPECT_NE(refusal({"guidellm", "run", "--data", "t", "--profile", "constant"}), "");
    EXPECT_NE(refusal({"guidellm", "run", "--data", "t", "--profile", "poisson", "--rate", "1,2"}),
              "");
    EXPECT_NE(refusal({"guidellm", "run", "--data", "t", "--profile", "kind=poisson,x=1"}), "");
}

// As `--rate "$RATE"` is where RATE was never set.
TEST(ForeignRates, SaysWhichValueIsWrong) {
    EXPECT_EQ(refusal({"t", "--url", "h", "--rate", ""}),
              "--rate \"\" is empty; give it a value, or remove it");
    EXPECT_EQ(refusal({"t", "--url", "h", "--max-concurrency="}),
              "--max-concurrency \"\" is empty; give it a value, or remove it");
    EXPECT_EQ(refusal({"t", "--url", "h", "--rate", "1", "--rate", "2"}),
              "--rate: is given 2 times; give it once");
    EXPECT_EQ(
        refusal({"t", "--url", "h", "--rate", "1", "--burstiness", "2", "--arrivals", "constant"}),
        "--burstiness 2: --arrivals also sets how rows arrive; remove one");
    for (const char* shape : {"0", "-1", "nan", "x"}) {
        const std::string why = refusal({"t", "--url", "h", "--burstiness", shape});
        EXPECT_TRUE(why.starts_with(std::string("--burstiness \"") + shape + "\" is not")) << why;
    }
}

// A closed loop is --concurrency, not a cap; a cap of vllm bench is --max-inflight.
TEST(ForeignRates, ConcurrencyIsOurs) {
    EXPECT_EQ(spelled({"t", "--url", "h", "--concurrency", "20"}),
              (Words{"t", "--url", "h", "--concurrency", "20"}));
    EXPECT_EQ(refusal({"t", "--url", "h", "--num-users", "3"})
                  .find("--num-users: its meaning differs between tools; "),
              0U);
    const Spelled capped = spell({"t", "--url", "h", "--max-concurrency=20"});
    ASSERT_EQ(capped.notes.size(), 1U);
    EXPECT_TRUE(
        capped.notes[0].starts_with("--max-concurrency 20 is taken as --max-inflight 20: "));
}

// A refusal of our flag says under which name it was typed.
TEST(ForeignRates, RefusalsNameTheFlagThatWasTyped) {
    const auto why = [](Words flags) {
        flags.insert(flags.begin(), {"vllm", "bench", "serve", "--url", "h"});
        return parse_replay_options(flags, "").text;
    };
    EXPECT_NE(why({"--request-rate", "0"}).find("(--rate was typed as --request-rate)"),
              std::string::npos);
    EXPECT_NE(why({"--num-prompts", "0"}).find("(--limit was typed as --num-prompts)"),
              std::string::npos);
    EXPECT_EQ(parse_replay_options({"t", "--url", "h", "--rate", "0"}, "").text.find("typed as"),
              std::string::npos);
}

// Sampling parameters are members of the body; those of --extra-body go first.
TEST(ForeignRates, VllmSamplingIsInTheBody) {
    const Words words = spelled({"vllm", "bench", "serve", "--url", "h", "--dataset-path", "t",
                                 "--top-p", "0.9", "--temperature", "0.5", "--extra-body",
                                 R"({"top_p":1})", "--request-rate", "inf"});
    EXPECT_NE(std::find(words.begin(), words.end(), R"({"top_p":1,"temperature":0.5})"),
              words.end());
}

// Conversations of a file have no times: all at once, or in a loop, as SGLang sends them.
TEST(ForeignRates, SharegptIsATrace) {
    EXPECT_EQ(spelled({"sglang.bench_serving", "--base-url", "h", "--backend", "vllm-chat",
                       "--dataset-name", "sharegpt", "--dataset-path", "s.json",
                       "--sharegpt-output-len", "64", "--max-concurrency", "4"}),
              (Words{"--url", "h", "--api", "vllm-chat", "--format", "sharegpt", "s.json",
                     "--default-output", "64", "--concurrency", "4"}));
    EXPECT_NE(parse_replay_options({"sglang.bench_serving", "--base-url", "h"}, "")
                  .text.find("--dataset-name random"),
              std::string::npos);
}

// Good requests are those within limits, which must be said.
TEST(ForeignRates, GoodNeedsGoodput) {
    const Words line{"t", "--url", "h", "--fail-if", "good < 1"};
    EXPECT_NE(parse_replay_options(line, "").text.find("add --goodput"), std::string::npos);
    Words limited = line;
    limited.insert(limited.end(), {"--goodput", "ttft:200"});
    EXPECT_EQ(parse_replay_options(limited, "").kind, ReplayCommandLine::Kind::run);
}

}  // namespace
}  // namespace driftless
