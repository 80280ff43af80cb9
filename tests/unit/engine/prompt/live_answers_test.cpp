#include <gtest/gtest.h>

#include <thread>

#include "engine/prompt/recorded_bodies.hpp"

namespace driftless {
namespace {

TurnReply reply_of(std::uint32_t request) {
    return {.bytes = request * 3, .request = request};
}

TEST(ReplyRing, IsFullAndEmptyAgain) {
    ReplyRing ring(3);  // four cells
    TurnReply got;
    EXPECT_FALSE(ring.pop(got));
    for (std::uint32_t round = 0; round < 5; ++round) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            EXPECT_TRUE(ring.push(reply_of(i)));
        }
        EXPECT_FALSE(ring.push(reply_of(9)));
        for (std::uint32_t i = 0; i < 4; ++i) {
            ASSERT_TRUE(ring.pop(got));
            EXPECT_EQ(got.request, i);
        }
        EXPECT_FALSE(ring.pop(got));
    }
}

// Nothing is lost, repeated or torn between two threads.
TEST(ReplyRing, CarriesAllFromThreadToThread) {
    constexpr std::uint32_t count = 200'000;
    ReplyRing ring(64);
    std::thread writer([&ring] {
        for (std::uint32_t i = 0; i < count;) {
            i += ring.push(reply_of(i)) ? 1 : 0;
        }
    });
    for (std::uint32_t next = 0; next < count;) {
        TurnReply got;
        if (ring.pop(got)) {
            ASSERT_EQ(got.request, next);
            ASSERT_EQ(got.bytes, std::uint64_t{next} * 3);
            ++next;
        }
    }
    writer.join();
}

}  // namespace
}  // namespace driftless
