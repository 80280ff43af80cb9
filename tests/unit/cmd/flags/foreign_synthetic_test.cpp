// Synthetic data sets of other tools become the workload that has their lengths.
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/flags/other_tools.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string workload(const std::string& line) {
    const Spelled spelled = spell(words_of(line));
    EXPECT_EQ(spelled.refused, "") << line;
    for (const std::string& argument : spelled.arguments) {
        if (argument.starts_with("synth:")) {
            return argument;
        }
    }
    return "";
}

std::string refusal(const std::string& line) {
    return spell(words_of(line)).refused;
}

TEST(Synthetic, VllmRandom) {
    // The defaults are vllm's: 1,000 prompts of 1,024 tokens, 128 tokens out.
    EXPECT_EQ(workload("vllm bench serve --dataset-name random"),
              "synth:random --rows 1000 --in 1024 --out-tokens 128 --rate inf");
    EXPECT_EQ(
        workload("vllm bench serve --dataset-name random --random-input-len 10 "
                 "--random-output-len=5 --random-range-ratio 0.25 --num-prompts 7 --seed 3"),
        "synth:random --rows 7 --in uniform:7..13 --out-tokens uniform:3..7 --rate inf --seed 3");
    EXPECT_EQ(workload("vllm bench serve --dataset-name random --random-prefix-len 64 "
                       "--random-range-ratio {\"input\":0.5}"),
              "synth:prefix --rows 1000 --groups 1 --prefix 64 --suffix uniform:512..1536 "
              "--out-tokens 128 --rate inf");
    EXPECT_NE(refusal("vllm bench serve --dataset-name random --random-range-ratio 1"), "");
}

// The general lengths, and the data set that it has where none is named.
TEST(Synthetic, VllmDefaults) {
    EXPECT_EQ(workload("vllm bench serve --model m --num-prompts 100 --request-rate 50"),
              "synth:random --rows 100 --in 1024 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload("vllm bench serve --dataset-name random --input-len 100 --output-len 16 "
                       "--random-input-len 5"),
              "synth:random --rows 1000 --in 100 --out-tokens 16 --rate inf");
    EXPECT_EQ(workload("vllm bench serve --dataset-path t.jsonl --num-prompts 100"), "");
    const Spelled closed = spell(words_of("vllm bench serve --max-concurrency 4"));
    EXPECT_EQ(std::vector<std::string>(closed.arguments.begin(), closed.arguments.end() - 1),
              words_of("--api openai-completions --host 127.0.0.1 --port 8000 --concurrency 4"));
}

TEST(Synthetic, VllmPrefixRepetition) {
    EXPECT_EQ(workload("python -m vllm.entrypoints.cli.main bench serve --dataset-name "
                       "prefix_repetition --prefix-repetition-num-prefixes 5 --num-prompts 53"),
              "synth:prefix --rows 50 --groups 5 --prefix 256 --suffix 256 --out-tokens 128 "
              "--popularity equal --rate inf");
    EXPECT_NE(refusal("vllm bench serve --dataset-name prefix_repetition --num-prompts 5"), "");
    EXPECT_NE(refusal("vllm bench serve --dataset-name prefix_repetition "
                      "--prefix-repetition-num-prefixes 0"),
              "");
}

TEST(Synthetic, Sglang) {
    const std::string tool = "python3 -m sglang.bench_serving --dataset-name ";
    // A ratio of 0, the default, means from 1 on; 1 means fixed.
    EXPECT_EQ(workload(tool + "random --num-prompts 50 --random-input-len 512"),
              "synth:random --rows 50 --in uniform:1..512 --out-tokens uniform:1..1024 --rate inf");
    EXPECT_EQ(workload(tool + "random --random-range-ratio 1 --random-input 512"),
              "synth:random --rows 1000 --in 512 --out-tokens 1024 --rate inf");
    EXPECT_EQ(
        workload(tool + "random-ids --random-range-ratio 0.5 --random-input 5"),
        "synth:random --rows 1000 --in uniform:2..5 --out-tokens uniform:512..1024 --rate inf");
    EXPECT_EQ(workload(tool + "generated-shared-prefix --gsp-num-groups 4 --num-prompts 3 "
                              "--gsp-prompts-per-group 5 --gsp-group-distribution zipf "
                              "--gsp-zipf-alpha 1.2"),
              "synth:prefix --rows 20 --groups 4 --prefix 2048 --suffix 128 --out-tokens 256 "
              "--popularity zipf:1.2 --rate inf");
    EXPECT_TRUE(says(refusal(tool + "generated-shared-prefix --gsp-num-turns 3"), "synth chat"));
}

TEST(Synthetic, Aiperf) {
    const std::string line =
        "aiperf profile --model M --synthetic-input-tokens-mean 550 "
        "--synthetic-input-tokens-stddev "
        "40 --output-tokens-mean 128 --request-count 100";
    EXPECT_EQ(workload(line),
              "synth:random --rows 100 --in normal:550:40 --out-tokens 128 --rate inf");
    const Spelled closed = spell(words_of(line + " --url h --concurrency 8"));
    EXPECT_EQ(std::vector<std::string>(closed.arguments.begin() + 6, closed.arguments.end() - 1),
              (std::vector<std::string>{"--concurrency", "8"}));
    EXPECT_EQ(
        workload("aiperf profile --isl 100 --osl 5 --num-requests 9 --prefix-prompt-length 64 "
                 "--prefix-prompt-pool-size 3"),
        "synth:prefix --rows 9 --groups 3 --prefix 64 --suffix 100 --out-tokens 5 --rate inf");
    EXPECT_EQ(workload("aiperf profile --isl 100 --osl 50 --random-range-ratio 0.5 --num-sessions "
                       "4"),
              "synth:random --rows 4 --in uniform:50..150 --out-tokens uniform:25..75 --rate inf");
    EXPECT_EQ(workload("aiperf profile --input-file t.jsonl --concurrency 4"), "");
}

// Its default number of requests, and its default lengths: cli_config.py of AIPerf 0.13.0.
TEST(Synthetic, AiperfDefaults) {
    EXPECT_EQ(workload("aiperf profile --model m --url h"),
              "synth:random --rows 10 --in 550 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload("aiperf profile --model m --url h --concurrency 30 --osl 9"),
              "synth:random --rows 60 --in 550 --out-tokens 9 --rate inf");
    const Spelled one = spell(words_of("aiperf profile --url h --isl 5"));
    EXPECT_EQ(std::vector<std::string>(one.arguments.begin(), one.arguments.end() - 1),
              (std::vector<std::string>{"--url", "h", "--concurrency", "1", "--output", "free"}));
}

// A rate and a time: the rows that are due by then, for a random process with some to spare.
TEST(Synthetic, RowsOfARateAndATime) {
    EXPECT_EQ(workload("aiperf profile --osl 5 --request-rate 100 --arrival-pattern constant "
                       "--benchmark-duration 60"),
              "synth:random --rows 6001 --in 550 --out-tokens 5 --rate inf");
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 600 --max-seconds 3 --data "
                       "prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 1801 --in 64 --out-tokens 8 --rate inf");
    EXPECT_EQ(workload("guidellm benchmark --profile poisson --rate 100 --max-seconds 100 --data "
                       "prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 10809 --in 64 --out-tokens 8 --rate inf")
        << "10000 and 8 deviations of 100, and 8";
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 10 --rampup 10 --max-seconds "
                       "30 --data prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 251 --in 64 --out-tokens 8 --rate inf")
        << "50 on the ramp, 200 behind it";
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 600 --max-seconds 3 "
                       "--max-requests 7 --data prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 7 --in 64 --out-tokens 8 --rate inf");
    EXPECT_TRUE(
        says(refusal("guidellm benchmark --profile constant --rate 1e8 --max-seconds 10 --data "
                     "prompt_tokens=64,output_tokens=8"),
             "100 million"));
}

// A closed loop until a time has prompts without an end, as the tool's.
TEST(Synthetic, RowsOfALoopAndATime) {
    const std::string data = " --data prompt_tokens=64,output_tokens=8";
    const Spelled loop = spell(words_of(
        "guidellm benchmark --target h --profile concurrent --rate 8 --max-seconds 3" + data));
    EXPECT_EQ(loop.arguments, (std::vector<std::string>{
                                  "--url", "h", "--for", "3", "--concurrency", "8", "--recycle",
                                  "synth:random --rows 10000 --in 64 --out-tokens 8 --rate inf"}));
    EXPECT_EQ(
        spell(
            words_of("guidellm benchmark --target h --profile throughput --max-requests 9" + data))
            .arguments,
        (std::vector<std::string>{"--url", "h", "--limit", "9", "--concurrency", "10240",
                                  "synth:random --rows 9 --in 64 --out-tokens 8 --rate inf"}));
    EXPECT_TRUE(says(refusal("guidellm benchmark --target h --profile synchronous" + data),
                     "without end; end the run with --max-requests N"));
    EXPECT_TRUE(
        refusal("guidellm benchmark --target h" + data).starts_with("--profile is missing"));
}

TEST(Synthetic, Guidellm) {
    const std::string tool = "guidellm benchmark --profile synchronous --max-requests 30 --data ";
    EXPECT_EQ(workload(tool + "prompt_tokens=256,output_tokens=128"),
              "synth:random --rows 30 --in 256 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload(tool + "kind=synthetic_text,prompt_tokens=256,prompt_tokens_stdev=10,"
                              "output_tokens=128,output_tokens_min=100,output_tokens_max=200"),
              "synth:random --rows 30 --in normal:256:10:206..306 --out-tokens uniform:100..200 "
              "--rate inf");
    EXPECT_EQ(
        workload(tool + "{\"prompt_tokens\":64,\"output_tokens\":8,\"prefix_tokens\":32}"),
        "synth:prefix --rows 30 --groups 1 --prefix 32 --suffix 64 --out-tokens 8 --rate inf");
    EXPECT_EQ(workload(tool + "prompt_tokens=256"),
              "synth:random --rows 30 --in 256 --out-tokens 128 --rate inf")
        << "with --output free";
    EXPECT_TRUE(says(refusal(tool + "prompt_tokens=256,output_tokens=1,turns=3"), "\"turns\""));
}

}  // namespace
}  // namespace driftless
