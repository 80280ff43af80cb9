#include "proto/core/text.hpp"

#include <gtest/gtest.h>

namespace driftless {

namespace {

TEST(LetterCase, FoldsAsciiOnly) {
    EXPECT_TRUE(equal_ignoring_case("Keep-Alive", "kEEP-aLIVE"));
    EXPECT_FALSE(equal_ignoring_case("keep", "keep-alive"));
    EXPECT_FALSE(equal_ignoring_case("[", "{"));
    EXPECT_EQ(lower("TTFT \xC3\x84"), "ttft \xC3\x84");
}

// A mistyped name leads to the one that was meant, and to none where nothing is near.

TEST(NearestName, IsAtMostTwoEditsAway) {
    const std::vector<std::string> names{"--speed", "--seed", "--out"};
    EXPECT_EQ(nearest_name("--sped", names), "--speed");
    EXPECT_EQ(nearest_name("--sed", names), "--seed");
    EXPECT_EQ(nearest_name("--spe", names), "--speed");
    EXPECT_EQ(nearest_name("--sp", names), "");
    EXPECT_EQ(nearest_name("--tokenizer", names), "");
    EXPECT_EQ(nearest_name("--qps", {"--api", "--cpu"}), "") << "another word, not a slip";
    EXPECT_EQ(nearest_name("--pai", {"--pin"}), "--pin");
}

TEST(NearestName, TakesTwoSwappedLettersForOneSlip) {
    EXPECT_EQ(nearest_name("--pai", {"--pin", "--api"}), "--api");
    EXPECT_EQ(nearest_name("--ulr", {"--user", "--url"}), "--url");
    EXPECT_EQ(nearest_name("rpelyaxx", {"replay"}), "") << "two swaps and two letters more";
    EXPECT_EQ(nearest_name("rpelya", {"replay"}), "replay") << "two swaps";
}

TEST(NearestName, FinishesWhatWasBegun) {
    const std::vector<std::string> names{"--timeout-idle", "--timeout-total", "--tokenizer"};
    EXPECT_EQ(nearest_name("--timeout", names), "--timeout-idle or --timeout-total");
    EXPECT_EQ(nearest_name("--token", names), "--tokenizer");
    EXPECT_EQ(nearest_name("--to", names), "") << "too short to say what was meant";
    EXPECT_EQ(nearest_name("calib", {"calibrate", "convert"}), "calibrate");
    EXPECT_EQ(nearest_name("--tim",
                           {"--tim-aaaa", "--tim-bbbb", "--tim-cccc", "--tim-dddd", "--tim-eeee"}),
              "")
        << "five are no answer";
    EXPECT_EQ(nearest_name("--tim", {"--tim-eins", "--tim-zwei", "--tim-drei"}),
              "--tim-eins, --tim-zwei or --tim-drei");
}

TEST(NearestName, IsNotAWholeOtherName) {
    EXPECT_EQ(nearest_name("min", {"ms", "us"}), "");
    EXPECT_EQ(nearest_name("m", {"ms", "us"}), "ms");
}

TEST(DidYouMean, ReadsAListForPeople) {
    EXPECT_EQ(did_you_mean("spn", "spin, hybrid, sleep"), "; did you mean spin?");
    EXPECT_EQ(did_you_mean("retyr:2", "end-tree, or retry:N with N from 1 to 30"),
              "; did you mean retry:N?");
    EXPECT_EQ(did_you_mean("moncake", "mooncake, qwen"), "; did you mean mooncake?");
    EXPECT_EQ(did_you_mean("chan", "keep; chain is another"), "") << "behind the list";
    EXPECT_EQ(did_you_mean("htm", "html, none"), "; did you mean html?");
    EXPECT_EQ(did_you_mean("pdf", "html, none"), "");
    EXPECT_EQ(did_you_mean("", "html, none"), "");
}

}  // namespace

}  // namespace driftless
