#include "proto/core/letter_case.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(LetterCase, FoldsAsciiOnly) {
    EXPECT_TRUE(equal_ignoring_case("Keep-Alive", "kEEP-aLIVE"));
    EXPECT_FALSE(equal_ignoring_case("keep", "keep-alive"));
    EXPECT_FALSE(equal_ignoring_case("[", "{"));
    EXPECT_EQ(lower("TTFT \xC3\x84"), "ttft \xC3\x84");
}

}  // namespace
}  // namespace driftless
