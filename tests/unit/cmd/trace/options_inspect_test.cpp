// The flags of inspect: defaults, refusals with their remedies, and a help that shows examples.
#include <gtest/gtest.h>

#include "cmd/trace/trace.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

InspectCommand inspect_parsed(const std::vector<std::string>& arguments) {
    const InspectCommandLine line = parse_inspect_options(arguments);
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::run) << line.text;
    return line.command;
}

std::string inspect_refusal(const std::vector<std::string>& arguments) {
    const InspectCommandLine line = parse_inspect_options(arguments);
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::refused);
    return line.text;
}

TEST(InspectOptions, HaveDefaults) {
    const InspectCommand command = inspect_parsed({"t.jsonl"});
    EXPECT_EQ(command.files.paths, std::vector<std::string>{"t.jsonl"});
    EXPECT_FALSE(command.each || command.plot || command.json);
    EXPECT_TRUE(command.inspect.block_sizes.empty());
    EXPECT_EQ(command.inspect.max_model_len, 0U);
    EXPECT_EQ(command.inspect.plan.seed, 0U);
    EXPECT_EQ(command.token_bytes, 0U);
    EXPECT_EQ(command.hash_block_report, "");
}

TEST(InspectOptions, TakeEverything) {
    const InspectCommand command =
        inspect_parsed({"a",          "b",          "--format",  "qwen",
                        "--sessions", "open",       "--lenient", "--start",
                        "1s",         "--end",      "2m",        "--limit",
                        "7",          "--seed",     "3",         "--block-sizes",
                        "512, 1024",  "--kv-bytes", "320k",      "--max-model-len",
                        "131072",     "--plot",     "--json",    "--hash-block-report",
                        "r.json"});
    EXPECT_EQ(command.files.paths, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(command.files.format, "qwen");
    EXPECT_TRUE(command.files.sessions == Sessions::open && command.files.lenient);
    EXPECT_EQ(command.inspect.plan.start_ns, 1'000'000'000);
    EXPECT_EQ(command.inspect.plan.end_ns, 120'000'000'000);
    EXPECT_EQ(command.inspect.plan.limit, 7U);
    EXPECT_EQ(command.inspect.plan.seed, 3U);
    EXPECT_EQ(command.inspect.block_sizes, (std::vector<std::uint32_t>{512, 1024}));
    EXPECT_EQ(command.token_bytes, 320U * 1024);
    EXPECT_EQ(command.inspect.max_model_len, 131'072U);
    EXPECT_TRUE(command.plot && command.json);
    EXPECT_EQ(command.hash_block_report, "r.json");
    EXPECT_TRUE(inspect_parsed({"a", "--each"}).each);
}

TEST(InspectOptions, AreRefusedWithARemedy) {
    EXPECT_TRUE(says(inspect_refusal({}), "name a file, a directory or -"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--block-sizes", "512,,1"}), "use 512,1024"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--block-sizes", "0"}), "use 512,1024"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--start", "2s", "--end", "1s"}), "later than --start"));
    EXPECT_TRUE(
        says(inspect_refusal({"t", "--each", "--hash-block-report", "r"}), "remove --each"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--json", "--hash-block-report", "-"}), "name a file"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--map"}), "--map needs a value (K=COLUMN,..)"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--plots"}), "did you mean --plot?"));
}

TEST(InspectOptions, HaveAHelpWithExamples) {
    const InspectCommandLine line = parse_inspect_options({"--help"});
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::help);
    EXPECT_TRUE(says(line.text, "\n  driftless inspect trace.jsonl\n"));
    std::size_t begin = 0;
    for (std::size_t end; (end = line.text.find('\n', begin)) != line.text.npos; begin = end + 1) {
        EXPECT_LE(end - begin, 100U) << line.text.substr(begin, end - begin);
    }
}

}  // namespace
}  // namespace driftless
