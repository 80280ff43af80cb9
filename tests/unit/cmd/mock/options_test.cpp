#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/mock/mock.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {
namespace {

ParsedMock parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "mock");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    return parse_mock_options(static_cast<int>(argv.size()), argv.data());
}

// Defaults: loopback only, vLLM-like pace, a cache of the trace's block size.
TEST(MockOptions, HasSafeDefaults) {
    const ParsedMock parsed = parse({});
    ASSERT_FALSE(parsed.exit_code);
    EXPECT_EQ(parsed.options.host, "127.0.0.1");
    EXPECT_EQ(parsed.options.port, 8000);
    EXPECT_EQ(parsed.options.core.pace.first, milliseconds(5));
    EXPECT_EQ(parsed.options.core.pace.between, milliseconds(10));
    EXPECT_EQ(parsed.options.core.cache_block_tokens, 512u);
    EXPECT_TRUE(parsed.options.core.faults.empty());
    EXPECT_FALSE(parsed.options.core.keep_log);
    EXPECT_FALSE(parsed.options.core.pace.in_steps());
}

// Each flag reaches its place, in its unit.
TEST(MockOptions, ReadsItsFlags) {
    const ParsedMock parsed = parse(words_of(
        "--listen [::1]:0 --port 81 --ttft 20ms --itl 1.5ms --jitter 0.1 --overhead 3,5 --headers "
        "late --fault reset:0.25 --fault-row 429:17 --fault slow:0.5 --log x.jsonl --wait sleep "
        "--ttft-per-token 250ns --no-usage --slots 3 --step-tokens 2048"));
    ASSERT_FALSE(parsed.exit_code);
    const MockOptions& options = parsed.options;
    EXPECT_EQ(options.host, "::1");
    EXPECT_EQ(options.port, 81);
    EXPECT_EQ(options.core.pace.first, milliseconds(20));
    EXPECT_EQ(options.core.pace.between, microseconds(1500));
    EXPECT_EQ(options.core.pace.per_uncached_token.ns, 250);
    EXPECT_EQ(options.core.overhead.pre, 3u);
    EXPECT_EQ(options.core.overhead.post, 5u);
    EXPECT_FALSE(options.core.early_headers);
    EXPECT_FALSE(options.core.usage);
    EXPECT_TRUE(options.core.keep_log);
    EXPECT_EQ(options.core.slots, 3u);
    EXPECT_EQ(options.core.pace.step_tokens, 2048u);
    EXPECT_EQ(options.server.wait, WaitMode::sleep);
    ASSERT_EQ(options.core.faults.size(), 3u);
    EXPECT_EQ(options.core.faults[1].fault, Fault::slow);
    EXPECT_EQ(options.core.faults[2].row, 17u);
}

// A tokenizer that does not keep to one token a word, and an endpoint that tells of another one.
TEST(MockOptions, ReadsWordRules) {
    const ParsedMock parsed =
        parse(words_of("--split-words the,cat --split-first dog,cow --join-words new+one,a+b "
                       "--tokenize llama.cpp --tokenize-overhead 1,2 --overhead-varies 3"));
    ASSERT_FALSE(parsed.exit_code);
    const CoreOptions& core = parsed.options.core;
    EXPECT_TRUE(core.words.splits(word_number("cat")));
    EXPECT_FALSE(core.words.splits(word_number("dog")));
    EXPECT_TRUE(core.words.splits_first(word_number("dog")));
    EXPECT_FALSE(core.words.splits_first(word_number("the")));
    EXPECT_TRUE(core.words.joins(word_number("a"), word_number("b")));
    EXPECT_FALSE(core.words.joins(word_number("b"), word_number("a")));
    EXPECT_EQ(core.tokenize, TokenizeForm::llama_cpp);
    EXPECT_EQ(core.tokenize_overhead.value().post, 2u);
    EXPECT_EQ(core.overhead_varies, 3u);
    EXPECT_TRUE(parse({"--split-words", "*"}).options.core.words.splits(word_number("any")));
}

// Whose requests they are, and what histories are checked against.
TEST(MockOptions, ReadsSessions) {
    const CoreOptions standard = parse({}).options.core;
    EXPECT_EQ(standard.session_headers.front(), "X-Session-ID");
    EXPECT_EQ(standard.check_history, 0u);
    const CoreOptions core =
        parse({"--log-headers", "X-Tree,X-User", "--check-history", "4294967295"}).options.core;
    EXPECT_EQ(core.session_headers, (std::vector<std::string>{"X-Tree", "X-User"}));
    EXPECT_EQ(core.check_history, 4294967295u);
    EXPECT_EQ(parse({"--log-headers", "X Tree"}).exit_code, 2);
    EXPECT_EQ(parse({"--log-headers", "X-Tree,,"}).exit_code, 2);
}

// Who it pretends to be, beside its answers.
TEST(MockOptions, ReadsWhoItIs) {
    const CoreOptions core = parse({"--pod", "llama 7", "--metrics", "sglang"}).options.core;
    EXPECT_EQ(core.pod, "llama 7");
    EXPECT_TRUE(!core.metric_names.vllm && core.metric_names.sglang);
    EXPECT_TRUE(parse({}).options.core.metric_names.vllm);
    EXPECT_TRUE(parse({}).options.core.metric_names.sglang);
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--pod", "a\r\nX-Evil: 1"},
          {"--pod", ""},
          {"--metrics", "tgi"}}) {
        EXPECT_EQ(parse(wrong).exit_code, 2);
    }
}

// What makes no sense is a usage error.
TEST(MockOptions, RefusesNonsense) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"--port", "65536"},
                                               {"--port", "-1"},
                                               {"--listen", "8000"},
                                               {"--ttft", "fast"},
                                               {"--jitter", "1.5"},
                                               {"--jitter", "nan"},
                                               {"--overhead", "8"},
                                               {"--tokens-per-chunk", "0"},
                                               {"--split-words", "a,,b"},
                                               {"--join-words", "the"},
                                               {"--join-words", "the+"},
                                               {"--tokenize", "grpc"},
                                               {"--fault", "burn:0.1"},
                                               {"--fault", "reset"},
                                               {"--fault", "reset:0.6", "--fault", "stall:0.6"},
                                               {"--fault-row", "reset:x"},
                                               {"--wait", "forever"},
                                               {"--unknown"},
                                               {"positional"}}) {
        EXPECT_EQ(parse(arguments).exit_code, 2) << arguments.front();
    }
    EXPECT_EQ(parse({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace driftless::mock
