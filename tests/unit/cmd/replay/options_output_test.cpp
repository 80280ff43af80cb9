// Flags of what is shown and written: limits with units, the table, the file of the records.
#include <gtest/gtest.h>

#include "cmd/replay/options.hpp"

namespace driftless {
namespace {

ReplayCommandLine parse(const std::vector<std::string>& arguments) {
    return parse_replay_options(arguments, "");
}

std::string refusal_with(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"trace.jsonl", "--url", "http://h:1"});
    const ReplayCommandLine line = parse(flags);
    EXPECT_TRUE(line.kind == ReplayCommandLine::Kind::refused);
    return line.text;
}

bool says(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// Limits with units, as people write them.
TEST(ReplayOptions, GoodputTakesUnits) {
    const ReplayOptions options =
        parse({"t", "--url", "h", "--goodput", "ttft:2s", "tpot:50ms", "e2e:1m30s"}).options;
    EXPECT_EQ(options.goodput.ttft_ns, 2'000'000'000);
    EXPECT_EQ(options.goodput.tpot_ns, 50'000'000);
    EXPECT_EQ(options.goodput.e2e_ns, 90'000'000'000);
}

// What is on the screen, and how much of it.
TEST(ReplayOptions, ChooseTheTable) {
    EXPECT_EQ(parse({"t", "--url", "h"}).options.table, TableKind::brief);
    EXPECT_EQ(parse({"t", "--url", "h", "--table", "full"}).options.table, TableKind::full);
    EXPECT_TRUE(says(refusal_with({"--table", "long"}), "is not one of short, full"));
    EXPECT_TRUE(parse({"t", "--url", "h", "--quiet"}).options.quiet);
    EXPECT_FALSE(parse({"t", "--url", "h"}).options.quiet);
}

// A name that promises compression, and plain text in the file.
TEST(ReplayOptions, RecordsAreNotCompressed) {
    for (const char* name : {"r.jsonl.gz", "r.zst", "r.xz", "r.bz2"}) {
        EXPECT_TRUE(says(refusal_with({"--output-path", name}), "written as plain text")) << name;
    }
    EXPECT_EQ(parse({"t", "--url", "h", "--output-path", "gz"}).options.records_path, "gz");
}

}  // namespace
}  // namespace driftless
