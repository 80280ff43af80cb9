// Logarithm and exponential are those of the C library within a few units of the last place, and
// give the same bits everywhere.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {
namespace {

constexpr int draws = 200'000;

std::uint64_t digest_of(double (*function)(double), double from, double to) {
    Random random(7);
    Digest digest;
    for (int i = 0; i < 10'000; ++i) {
        const double value = function(from + (to - from) * random.uniform());
        digest.add_u64(std::bit_cast<std::uint64_t>(value));
    }
    return digest.value();
}

TEST(PortableMath, IsThatOfTheLibrary) {
    Random random(1);
    for (int i = 0; i < draws; ++i) {
        const double x =
            std::ldexp(1.0 - random.uniform(), static_cast<int>(random.below(120)) - 60);
        const double log_error = std::abs(portable_log(x) - std::log(x));
        ASSERT_LE(log_error, 4 * 0x1p-53 * std::max(1e-300, std::abs(std::log(x)))) << x;
        const double y = 1400 * (random.uniform() - 0.5);
        ASSERT_LE(std::abs(portable_exp(y) - std::exp(y)), 8 * 0x1p-53 * std::exp(y)) << y;
    }
    EXPECT_EQ(portable_log(1), 0);
    EXPECT_EQ(portable_exp(0), 1);
    EXPECT_EQ(portable_exp(-701), 0);
}

// Golden: who changes them changes every schedule that was drawn.
TEST(PortableMath, GivesTheSameBitsEverywhere) {
    EXPECT_EQ(digest_of(portable_log, 1e-9, 1), 7'579'813'050'726'025'987U);
    EXPECT_EQ(digest_of(portable_exp, -50, 0), 8'240'685'676'949'050'258U);
}

}  // namespace
}  // namespace driftless
