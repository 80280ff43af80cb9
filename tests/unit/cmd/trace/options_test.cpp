// The flags of convert: defaults, refusals with their remedies, and a help that shows examples.
#include <gtest/gtest.h>

#include "cmd/trace/trace.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

ConvertOptions parsed(const std::vector<std::string>& arguments) {
    const ConvertCommandLine line = parse_convert_options(arguments);
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::run) << line.text;
    return line.options;
}

std::string refusal(const std::vector<std::string>& arguments) {
    const ConvertCommandLine line = parse_convert_options(arguments);
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::refused);
    return line.text;
}

TEST(ConvertOptions, HaveDefaults) {
    const ConvertOptions options = parsed({"t.jsonl", "-o", "out.jsonl"});
    EXPECT_EQ(options.files.paths, std::vector<std::string>{"t.jsonl"});
    EXPECT_EQ(options.out, "out.jsonl");
    EXPECT_EQ(options.target, &canonical_target);
    EXPECT_EQ(options.plan.speed.numerator, 1U);
    EXPECT_EQ(options.load.copies.count, 1U);
    EXPECT_FALSE(options.load.sample);
}

TEST(ConvertOptions, TakeEverything) {
    const ConvertOptions options = parsed(words_of(
        "a b --out=o.gz --to mooncake --start 1s --end 2m --limit 7 --speed 2.5 --spread --seed 9 "
        "--replicate 3 --sample-sessions 50% --format qwen --keep x,y --lenient"));
    EXPECT_EQ(options.target, &mooncake_target);
    EXPECT_EQ(options.plan.start_ns, 1'000'000'000);
    EXPECT_EQ(options.plan.end_ns, 120'000'000'000);
    EXPECT_EQ(options.plan.limit, 7U);
    EXPECT_EQ(options.plan.speed.numerator, 5U);
    EXPECT_TRUE(options.plan.spread);
    EXPECT_EQ(options.load.seed, 9U);
    EXPECT_EQ(options.load.copies.count, 3U);
    EXPECT_EQ(options.load.sample->billionths, 500'000'000U);
    EXPECT_EQ(options.files.keep.size(), 2U);
    EXPECT_TRUE(options.files.lenient);
}

TEST(ConvertOptions, RefuseWithARemedy) {
    EXPECT_TRUE(says(refusal({"-o", "x"}), "no trace is given"));
    EXPECT_TRUE(says(refusal({"t"}), "--out is missing"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--to", "csv"}), "canonical, mooncake"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--start", "2", "--end", "1"}), "later than"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--sped", "2"}), "did you mean --speed"));
}

TEST(ConvertOptions, TakeLogs) {
    const ConvertOptions options =
        parsed(words_of("l.jsonl -o o --from-logs --tokenizer t.json --salt-file s --log-format "
                        "otel --block-size 32"));
    EXPECT_TRUE(options.logs.wanted);
    EXPECT_EQ(options.logs.format, "otel");
    EXPECT_EQ(options.logs.tokenizer, "t.json");
    EXPECT_EQ(options.logs.salt_file, "s");
    EXPECT_EQ(options.files.block_size, 32U);
}

TEST(ConvertOptions, RefuseLogsWithoutTheirFlags) {
    const auto logs = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"l", "-o", "o", "--from-logs"});
        return refusal(more);
    };
    EXPECT_TRUE(says(logs({}), "needs --tokenizer"));
    EXPECT_TRUE(says(logs({"--tokenizer", "t"}), "--salt-file FILE or --salt-env"));
    EXPECT_TRUE(says(logs({"--tokenizer", "t", "--salt-file", "a", "--salt-env", "b"}),
                     "needs either --salt-file"));
    EXPECT_TRUE(
        says(logs({"--tokenizer", "t", "--salt-file", "a", "--format", "qwen"}), "--log-format"));
    EXPECT_TRUE(says(refusal({"t", "-o", "o", "--salt-file", "s"}), "need --from-logs; add it"));
}

TEST(ConvertOptions, HelpShowsExamples) {
    const ConvertCommandLine line = parse_convert_options({"--help"});
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::help);
    EXPECT_TRUE(says(line.text, "driftless convert trace.jsonl -o"));
    EXPECT_TRUE(says(line.text, "[canonical]"));
}

}  // namespace
}  // namespace driftless
