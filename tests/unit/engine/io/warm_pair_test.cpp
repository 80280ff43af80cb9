#include "engine/io/warm_pair.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

// More bytes than any buffer of the pair holds: none blocks, and what is not read is thrown away.
TEST(WarmPair, NeverFillsUp) {
    WarmPair pair;
    EXPECT_FALSE(pair.is_open());
    const Result<void> opened = pair.open();
    ASSERT_TRUE(opened) << opened.error().doing;
    EXPECT_TRUE(pair.is_open());
    constexpr std::uint64_t sends = 20'000;
    for (std::uint64_t i = 0; i < sends; ++i) {
        pair.send();
    }
    EXPECT_EQ(pair.sends(), sends);
    EXPECT_LT(pair.unread(), sends / 4);  // some may have been on their way the last time
}

}  // namespace
}  // namespace driftless
