// A kernel stamp against what must be true of it: inside the bounds it stands, a little outside it
// is moved in, else it is unknown. Bytes of a connection are counted modulo 2^32.
#include "engine/replay/kernel_stamp.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(KernelStamp, StandsInsideItsBounds) {
    EXPECT_EQ(believable_stamp_ns(1'000'000, {1'000'000}, {2'000'000}), 1'000'000);
    EXPECT_EQ(believable_stamp_ns(1'500'000, {1'000'000}, {2'000'000}), 1'500'000);
    EXPECT_EQ(believable_stamp_ns(2'000'000, {1'000'000}, {2'000'000}), 2'000'000);
}

TEST(KernelStamp, IsMovedInsideByTheToleranceAndNoFurther) {
    EXPECT_EQ(believable_stamp_ns(998'000, {1'000'000}, {2'000'000}), 1'000'000);
    EXPECT_EQ(believable_stamp_ns(997'999, {1'000'000}, {2'000'000}), 0);
    EXPECT_EQ(believable_stamp_ns(2'002'000, {1'000'000}, {2'000'000}), 2'000'000);
    EXPECT_EQ(believable_stamp_ns(2'002'001, {1'000'000}, {2'000'000}), 0);
}

TEST(KernelStamp, NoneStaysNone) {
    EXPECT_EQ(believable_stamp_ns(0, {-10}, {10}), 0);
}

// A connection that carries more than 4 GiB: the numbers wrap, inside a request and between two.
TEST(KernelStamp, RequestsAreToldApartAcrossTheWrap) {
    const std::uint32_t first = 0xFFFFFF00u;  // the last 256 bytes before the wrap
    EXPECT_TRUE(ends_in_request(0xFFFFFF00u, first, 1000));
    EXPECT_TRUE(ends_in_request(0xFFFFFFFFu, first, 1000));
    EXPECT_TRUE(ends_in_request(0, first, 1000));
    EXPECT_TRUE(ends_in_request(743, first, 1000));
    EXPECT_FALSE(ends_in_request(744, first, 1000));          // of the next request
    EXPECT_FALSE(ends_in_request(0xFFFFFEFFu, first, 1000));  // of the one before
    EXPECT_TRUE(ends_in_request(744, 744, 10));
    EXPECT_FALSE(ends_in_request(743, 744, 10));
}

}  // namespace
}  // namespace driftless
