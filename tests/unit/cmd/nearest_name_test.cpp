// A mistyped name leads to the one that was meant, and to none where nothing is near.
#include "cmd/nearest_name.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
