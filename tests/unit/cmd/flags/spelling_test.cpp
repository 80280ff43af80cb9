// Command lines of other tools arrive under our names; nothing else is changed.
#include <gtest/gtest.h>

#include "cmd/flags/other_tools.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(Spelling, ReplacesAliases) {
    EXPECT_EQ(spell(words_of("t.jsonl --base-url u --scale-factor=2 -o d")).arguments,
              words_of("t.jsonl --url u --speed 2 --out d"));
}

// Only the first '=' separates: headers and labels keep theirs.
TEST(Spelling, SplitsAtTheFirstEqualsSign) {
    EXPECT_EQ(spell(words_of("--label=a=b --header K=V")).arguments,
              words_of("--label a=b --header K=V"));
}

// vllm bench takes the limits as separate words; a trace that follows is not one of them.
TEST(Spelling, GathersGoodput) {
    EXPECT_EQ(spell(words_of("--goodput ttft:200 tpot:50 e2el:3000 t.jsonl")).arguments,
              (Words{"--goodput", "ttft:200 tpot:50 e2el:3000", "t.jsonl"}));
    EXPECT_EQ(spell(words_of("--goodput=ttft:200 tpot:50 --seed 1")).arguments,
              (Words{"--goodput", "ttft:200 tpot:50", "--seed", "1"}));
    EXPECT_EQ(spell({"ttft:200", "tpot:50"}).arguments, (Words{"ttft:200", "tpot:50"}));
}

TEST(Spelling, LeavesStandardInputAndTheRestAlone) {
    EXPECT_EQ(spell(words_of("- -- --base-url a=b")).arguments, words_of("- -- --base-url a=b"));
}

TEST(Spelling, RefusesTimeScaleWithTheReason) {
    const Spelled spelled = spell({"t.jsonl", "--time-scale", "2"});
    EXPECT_TRUE(says(spelled.refused, "--speed X, where 2 is twice as fast"));
}

}  // namespace
}  // namespace driftless
