// The parts of a flag's help: default, files, words that could be values.
#include <gtest/gtest.h>

#include "cmd/flags/help_flags.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(FlagTable, SplitsTheDefaultOff) {
    const Flag flag = make_flag({"--wait"}, "HOW", "spin or sleep [auto (spin)]", "Host");
    EXPECT_EQ(flag.help, "spin or sleep");
    EXPECT_EQ(flag.standard, "auto (spin)");
    EXPECT_EQ(make_flag({"--x"}, "N", "from [0, 1] on", "").standard, "");
    EXPECT_EQ(make_flag({"--x"}, "N", "one; repeatable", "").is_repeatable(), true);
}

TEST(FlagTable, KnowsWhatTakesFiles) {
    for (const char* unit : {"FILE", "FILE|DIR", "NAME|FILE", "auto|none|FILE", "RUN", "DIR"}) {
        EXPECT_TRUE(make_flag({"--x"}, unit, "", "").takes_file()) << unit;
    }
    for (const char* unit : {"", "PATH", "PROFILE", "N", "K:V"}) {
        EXPECT_FALSE(make_flag({"--x"}, unit, "", "").takes_file()) << unit;
    }
}

TEST(FlagTable, FindsWordsThatCouldBeValues) {
    const Flag flag = make_flag({"--api"}, "NAME|none", "Text, or ids (arrays) of 4 K", "");
    EXPECT_EQ(
        possible_choices(flag, "APIs:\n  openai-chat  the first\n  tgi\n\nText\n", "use vllm"),
        words_of("none or ids arrays of openai-chat tgi use vllm"));
}

TEST(FlagTable, KnowsTheWordsOfAUnit) {
    const Flag flag = make_flag({"--calibration"}, "auto|none|FILE", "figures", "");
    EXPECT_EQ(flag.unit_words(), (std::vector<std::string>{"auto", "none"}));
    EXPECT_TRUE(flag.takes_file());
    EXPECT_FALSE(make_flag({"--engines"}, "N|auto", "", "").takes_file());
    EXPECT_TRUE(make_flag({"--quiet"}, "", "", "").unit_words().empty());
}

}  // namespace
}  // namespace driftless
