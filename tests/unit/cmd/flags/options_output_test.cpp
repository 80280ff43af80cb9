// Flags of what is shown and written: limits with units, the table, the file of the records.
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

// Limits with units, as people write them.
TEST(ReplayOptions, GoodputTakesUnits) {
    const ReplayOptions options = options_with({"--goodput", "ttft:2s", "tpot:50ms", "e2e:1m30s"});
    ASSERT_EQ(options.results.goodput.size(), 1U);
    EXPECT_EQ(options.results.goodput[0].limits.ttft_ns, 2'000'000'000);
    EXPECT_EQ(options.results.goodput[0].limits.tpot_ns, 50'000'000);
    EXPECT_EQ(options.results.goodput[0].limits.e2e_ns, 90'000'000'000);
}

// Limits of some rows, quoted or not; of a kept column only where that is kept.
TEST(ReplayOptions, GoodputHasGroups) {
    const ReplayOptions options =
        options_with({"--keep", "tier", "--goodput", "ttft:200", "--goodput",
                      "tier=gold ttft:100 tpot:50", "--goodput", "url=http://a:1/v1", "e2e:3s"});
    const GoodputRules& rules = options.results.goodput;
    ASSERT_EQ(rules.size(), 3U);
    EXPECT_FALSE(rules[0].key);
    EXPECT_EQ(rules[1].key->text, "kept.tier");
    EXPECT_EQ(rules[1].value, "gold");
    EXPECT_EQ(rules[1].limits.tpot_ns, 50'000'000);
    EXPECT_EQ(rules[2].value, "http://a:1/v1");
    EXPECT_EQ(rules[2].limits.e2e_ns, 3'000'000'000);
    EXPECT_TRUE(says(refusal_with({"--goodput", "tier=gold ttft:100"}), "add --keep tier"));
    EXPECT_TRUE(says(refusal_with({"--goodput", "tier=gold"}), "KEY=VALUE and limits in ms"));
    EXPECT_TRUE(says(refusal_with({"--goodput", "input:4=512 ttft:1"}), "has no single value"));
    EXPECT_TRUE(says(refusal_with({"--goodput", "ttft:1", "--goodput", "tpot:1"}),
                     "is given 2 times for all rows"));
}

// What is on the screen, and how much of it.
TEST(ReplayOptions, ChooseTheTable) {
    EXPECT_EQ(options_with({}).results.table, TableKind::compact);
    EXPECT_EQ(options_with({"--table", "full"}).results.table, TableKind::full);
    EXPECT_TRUE(says(refusal_with({"--table", "long"}), "is not one of short, full"));
    EXPECT_TRUE(options_with({"--quiet"}).results.quiet);
    EXPECT_FALSE(options_with({}).results.quiet);
}

TEST(ReplayOptions, EndWithAPageUnlessItIsNotWanted) {
    EXPECT_TRUE(options_with({}).results.page);
    EXPECT_TRUE(options_with({"--report", "html"}).results.page);
    EXPECT_FALSE(options_with({"--report", "none"}).results.page);
    EXPECT_TRUE(says(refusal_with({"--report", "pdf"}), "is not one of html, none"));
}

// The folder of a run is named in what is printed: with one slash between it and its files.
TEST(ReplayOptions, FoldersHaveNoSlashBehindThem) {
    EXPECT_EQ(options_with({"--out", "runs/a//"}).results.out, "runs/a");
    EXPECT_EQ(options_with({"--out", "//"}).results.out, "/");
    EXPECT_TRUE(says(refusal_with({"--out", ""}), "is empty; give it a value, or remove it"));
}

// A name that promises compression, and plain text in the file.
TEST(ReplayOptions, RecordsAreNotCompressed) {
    for (const char* name : {"r.jsonl.gz", "r.zst", "r.xz", "r.bz2"}) {
        EXPECT_TRUE(says(refusal_with({"--output-path", name}), "written uncompressed")) << name;
    }
    EXPECT_EQ(options_with({"--output-path", "gz"}).results.records_path, "gz");
}

}  // namespace
}  // namespace driftless
