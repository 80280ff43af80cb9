// The command line of a search: defaults, bounds, and what is refused before anything is sent.
#include <gtest/gtest.h>

#include "cmd/runs/find.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

FindCommandLine parse(Words words, const Words& more = {}) {
    words.insert(words.begin(), {"trace.jsonl", "--url", "http://a:1"});
    words.insert(words.end(), more.begin(), more.end());
    return parse_find_options(words);
}

FindCommandLine over(const char* load, const Words& more = {}) {
    return parse({"--slo", "ttft:p90<1s", "--over", load}, more);
}

std::string refusal(const FindCommandLine& line) {
    EXPECT_EQ(line.kind, FindCommandLine::Kind::refused);
    return line.text;
}

TEST(FindOptions, HasBoundsWhereNoneAreGiven) {
    const FindCommandLine copies = over("replicate");
    ASSERT_EQ(copies.kind, FindCommandLine::Kind::run) << copies.text;
    EXPECT_EQ(copies.options.rules.low, 1);
    EXPECT_EQ(copies.options.rules.start, 1);
    EXPECT_EQ(copies.options.rules.high, 1024);
    EXPECT_TRUE(copies.options.rules.whole);
    EXPECT_EQ(copies.options.rules.tolerance, 0.05);
    EXPECT_EQ(copies.options.slos.rows_min, 64U);

    const FindCommandLine between = over("users", {"--low", "4", "--high", "100"});
    EXPECT_EQ(between.options.rules.start, 20);
    const FindCommandLine rate = over("rate", {"--low", "2.5", "--tolerance", "0.1"});
    EXPECT_EQ(rate.options.rules.start, 2.5);
    EXPECT_EQ(rate.options.rules.high, 2560);
    EXPECT_EQ(rate.options.rules.tolerance, 0.1);
    EXPECT_FALSE(rate.options.rules.whole);
    EXPECT_EQ(over("speed", {"--high", "0.5"}).options.rules.start, 0.5);
}

TEST(FindOptions, HandsTheRestToReplay) {
    const FindCommandLine line = over("rate", {"--", "--duration", "2m", "--cache-salt=x"});
    ASSERT_EQ(line.kind, FindCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.replay_flags, (Words{"--duration", "2m", "--cache-salt=x"}));
    EXPECT_TRUE(line.options.salted);
    EXPECT_EQ(line.options.traces, Words{"trace.jsonl"});
}

TEST(FindOptions, RefusesLoadsThatAreNone) {
    for (const char* load : {"0", "-1", "x", "1e3", "inf", ""}) {
        EXPECT_TRUE(says(refusal(over("rate", {"--low", load})), "--low")) << load;
    }
    EXPECT_TRUE(says(refusal(over("users", {"--low", "1.5"})), "whole number"));
    EXPECT_TRUE(says(refusal(over("users", {"--low", "9", "--high", "8"})), "--low 9 is above"));
    EXPECT_TRUE(says(refusal(over("rate", {"--high", "8", "--start-at", "9"})), "between"));
    EXPECT_TRUE(says(refusal(over("rate", {"--tolerance", "0"})), "tolerance"));
    EXPECT_TRUE(says(refusal(over("qps")), "is not a load"));
}

TEST(FindOptions, RefusesWhatIsMissingOrTwice) {
    EXPECT_TRUE(says(refusal(parse({"--over", "rate"})), "--slo is missing"));
    EXPECT_TRUE(says(refusal(parse({"--slo", "ttft:p90<1s"})), "--over is missing"));
    EXPECT_TRUE(
        says(refusal(parse_find_options({"--slo", "ttft:p90<1s", "--over", "rate"})), "no trace"));
    EXPECT_TRUE(says(refusal(parse_find_options({"t", "--slo", "ttft:p90<1s", "--over", "rate"})),
                     "--url is missing"));
    for (const char* flag : {"--rate", "--seed", "--out", "--fail-if", "--dry-run", "--from"}) {
        EXPECT_TRUE(says(refusal(over("rate", {"--", flag, "3"})), flag)) << flag;
    }
    EXPECT_TRUE(says(refusal(over("rate", {"--rate", "3"})), "unknown flag --rate"));
}

TEST(FindOptions, WritesLoadsPlainly) {
    EXPECT_EQ(load_text(1), "1");
    EXPECT_EQ(load_text(1000000), "1000000");
    EXPECT_EQ(load_text(12.5), "12.5");
    EXPECT_EQ(load_text(0.00125), "0.00125");
    EXPECT_EQ(load_text(0.0000123), "0.0000123");
    EXPECT_EQ(load_text(99999.97), "100000");
    EXPECT_EQ(load_text(1234.56), "1234.56");
    EXPECT_EQ(load_text(50), "50");
}

}  // namespace
}  // namespace driftless
