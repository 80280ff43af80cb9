// Synthetic data sets of other tools become the workload that has their lengths.
#include "cmd/replay/flags/synthetic.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace driftless {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream text(line);
    std::vector<std::string> words;
    for (std::string word; text >> word;) {
        words.push_back(word);
    }
    return words;
}

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
    EXPECT_NE(refusal(tool + "generated-shared-prefix --gsp-num-turns 3").find("synth chat"),
              std::string::npos);
}

TEST(Synthetic, Aiperf) {
    const std::string line =
        "aiperf profile --model M --synthetic-input-tokens-mean 550 "
        "--synthetic-input-tokens-stddev "
        "40 --output-tokens-mean 128 --request-count 100";
    EXPECT_EQ(workload(line),
              "synth:random --rows 100 --in normal:550:40 --out-tokens 128 --rate inf");
    const Spelled capped = spell(words_of(line + " --concurrency 8 --benchmark-duration 60"));
    EXPECT_EQ(std::vector<std::string>(capped.arguments.begin() + 4, capped.arguments.end() - 1),
              (std::vector<std::string>{"--max-inflight", "8", "--duration", "60"}));
    EXPECT_EQ(
        workload("aiperf profile --isl 100 --osl 5 --num-requests 9 --prefix-prompt-length 64 "
                 "--prefix-prompt-pool-size 3"),
        "synth:prefix --rows 9 --groups 3 --prefix 64 --suffix 100 --out-tokens 5 --rate inf");
    EXPECT_NE(refusal("aiperf profile --isl 100 --osl 5").find("--request-count"),
              std::string::npos);
    EXPECT_NE(refusal("aiperf profile --isl 100 --request-count 5").find("--output-tokens-mean"),
              std::string::npos);
    EXPECT_EQ(workload("aiperf profile --input-file t.jsonl --concurrency 4"), "");
}

TEST(Synthetic, Guidellm) {
    const std::string tool = "guidellm benchmark --max-requests 30 --data ";
    EXPECT_EQ(workload(tool + "prompt_tokens=256,output_tokens=128"),
              "synth:random --rows 30 --in 256 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload(tool + "kind=synthetic_text,prompt_tokens=256,prompt_tokens_stdev=10,"
                              "output_tokens=128,output_tokens_min=100,output_tokens_max=200"),
              "synth:random --rows 30 --in normal:256:10:206..306 --out-tokens uniform:100..200 "
              "--rate inf");
    EXPECT_EQ(
        workload(tool + "{\"prompt_tokens\":64,\"output_tokens\":8,\"prefix_tokens\":32}"),
        "synth:prefix --rows 30 --groups 1 --prefix 32 --suffix 64 --out-tokens 8 --rate inf");
    EXPECT_NE(refusal(tool + "prompt_tokens=256"), "");
    EXPECT_NE(refusal(tool + "prompt_tokens=256,output_tokens=1,turns=3").find("\"turns\""),
              std::string::npos);
}

}  // namespace
}  // namespace driftless
