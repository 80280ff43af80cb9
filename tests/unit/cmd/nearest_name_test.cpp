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

}  // namespace
}  // namespace driftless
