// Decimals are read and scaled exactly, at the borders of 64 bits too.
#include <gtest/gtest.h>

#include <string>

#include "proto/core/numbers.hpp"

namespace driftless {
namespace {

struct Case {
    std::string_view text;
    std::int32_t power;
    std::uint64_t value;
    bool exact;
};

// Values worked out by hand: point moved, digits cut, zeros appended.
TEST(Decimal, ScalesExactly) {
    const Case cases[] = {
        {"0", 6, 0, true},
        {"27482", 6, 27'482'000'000, true},
        {"1.5", 6, 1'500'000, true},
        {"1.0000005", 6, 1'000'000, false},
        {"0.000001", 6, 1, true},
        {"0.0000009", 6, 0, false},
        {".5", 1, 5, true},
        {"5.", 1, 50, true},
        {"1e3", 6, 1'000'000'000, true},
        {"1.25E-2", 6, 12'500, true},
        {"+7", 0, 7, true},
        {"-7", 0, 7, true},
        {"007", 0, 7, true},
        {"0e99999999999", 0, 0, true},
        {"1e-99999999999", 0, 0, false},
        {"18446744073709551615", 0, 18446744073709551615ULL, true},
        {"18446744073709551615.9", 0, 18446744073709551615ULL, false},
        {"0.000000000000000000000000000001e30", 0, 1, true},
        // An epoch in ns that a double cannot hold.
        {"1732060800123456789", 0, 1732060800123456789ULL, true},
        {"1732060800.123456789", 9, 1732060800123456789ULL, true},
    };
    for (const Case& one : cases) {
        const auto decimal = scan_decimal(one.text);
        ASSERT_TRUE(decimal.has_value()) << one.text;
        const auto scaled = scale(*decimal, one.power);
        ASSERT_TRUE(scaled) << one.text;
        EXPECT_EQ(scaled.value().value, one.value) << one.text;
        EXPECT_EQ(scaled.value().exact, one.exact) << one.text;
    }
}

// What does not fit 64 bits is refused, not wrapped.
TEST(Decimal, RefusesWhatDoesNotFit) {
    for (const std::string_view text :
         {"18446744073709551616", "1e20", "1e99999999999", "99999999999999999999999999"}) {
        const auto decimal = scan_decimal(text);
        ASSERT_TRUE(decimal.has_value()) << text;
        EXPECT_FALSE(scale(*decimal, 0)) << text;
    }
    EXPECT_TRUE(scale(*scan_decimal("1.8446744073709551615e13"), 6));
    EXPECT_FALSE(scale(*scan_decimal("18446744073709.551616"), 6));
}

// Texts that are no decimal number.
TEST(Decimal, RefusesWhatIsNoNumber) {
    for (const std::string_view text :
         {"", ".", "-", "+-1", "1e", "1e+", "e5", "NaN", "Infinity", "inf", "0x10", " 1", "1 ",
          "1,5", "1.2.3", "--1", "\"1\""}) {
        EXPECT_FALSE(scan_decimal(text).has_value()) << text;
    }
}

// Whole numbers may be written as decimals; fractions and negatives are told apart.
TEST(Decimal, ReadsWholeNumbers) {
    EXPECT_EQ(parse_whole("512.0").value(), 512U);
    EXPECT_EQ(parse_whole("5.12e2").value(), 512U);
    EXPECT_EQ(parse_whole("-0").value(), 0U);
    EXPECT_EQ(parse_whole("18446744073709551615").value(), 18446744073709551615ULL);
    EXPECT_EQ(parse_whole("512.5").error().code, ErrorCode::invalid);
    EXPECT_EQ(parse_whole("x").error().code, ErrorCode::invalid);
    EXPECT_EQ(parse_whole("-1").error().code, ErrorCode::out_of_range);
    EXPECT_EQ(parse_whole("18446744073709551616").error().code, ErrorCode::out_of_range);
}

}  // namespace
}  // namespace driftless
