// Durations, sizes and counts mean exactly what was typed, or are refused with a reason.
#include "cmd/base/values.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::int64_t duration(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    return ns ? ns.value() : -1;
}

// Every unit, and a bare number as seconds.
TEST(Values, ReadDurationsOfEveryUnit) {
    EXPECT_EQ(duration("90"), 90'000'000'000);
    EXPECT_EQ(duration("1.5s"), 1'500'000'000);
    EXPECT_EQ(duration("10m"), 600'000'000'000);
    EXPECT_EQ(duration("2h"), 7'200'000'000'000);
    EXPECT_EQ(duration("250ms"), 250'000'000);
    EXPECT_EQ(duration("5us"), 5'000);
    EXPECT_EQ(duration("80ns"), 80);
    EXPECT_EQ(duration("0"), 0);
    EXPECT_EQ(duration(".5"), 500'000'000);
    EXPECT_EQ(duration("2."), 2'000'000'000);
}

// No double in between: one nanosecond beside a year stays, as do trailing zeros.
TEST(Values, ReadDurationsExactly) {
    EXPECT_EQ(duration("31536000.000000001"), 31'536'000'000'000'001);
    EXPECT_EQ(duration("0.1"), 100'000'000);
    EXPECT_EQ(duration("0.000000001000000000000000000000"), 1);
    EXPECT_EQ(duration("0.5us"), 500);
    EXPECT_EQ(duration("0.25m"), 15'000'000'000);
}

// As other tools write them: parts with units, each smaller than the one before it.
TEST(Values, ReadDurationsOfSeveralParts) {
    EXPECT_EQ(duration("30m30s"), 1'830'000'000'000);
    EXPECT_EQ(duration("1h30m"), 5'400'000'000'000);
    EXPECT_EQ(duration("1h0.5m2s3ms4us5ns"), 3'632'003'004'005);
    for (const char* text : {"30s30m", "1m1m", "1m30", "1h,30m", "1h 30m", "m30s", "1h30"}) {
        EXPECT_EQ(duration(text), -1) << text;
    }
    EXPECT_EQ(duration("878400h"), 3'162'240'000'000'000'000);  // 100 years of 366 days
    EXPECT_EQ(duration("878399h60m"), 3'162'240'000'000'000'000);
    EXPECT_EQ(duration("878400h1ns"), -1);
}

TEST(Values, RefuseWhatIsNoDuration) {
    for (const char* text : {"", "s", ".", "-1", "+1", "1e3", "1 s", "1.5.2", "1S", "1min", "x"}) {
        EXPECT_EQ(duration(text), -1) << text;
    }
}

// At the limits: 1 ns is the finest, 100 years (of 366 days) the longest.
TEST(Values, RefuseDurationsBeyondTheLimits) {
    EXPECT_EQ(duration("0.5ns"), -1);
    EXPECT_EQ(duration("0.0000000001"), -1);
    EXPECT_EQ(duration("3162240000"), 3'162'240'000'000'000'000);
    EXPECT_EQ(duration("3162240001"), -1);
    EXPECT_EQ(duration("99999999999999999999"), -1);
}

// What is printed reads back to the same number.
TEST(Values, WriteDurationsInTheLargestWholeUnit) {
    EXPECT_EQ(duration_to_text(0), "0s");
    EXPECT_EQ(duration_to_text(1'500'000'000), "1500ms");
    EXPECT_EQ(duration_to_text(600'000'000'000), "10m");
    EXPECT_EQ(duration_to_text(7), "7ns");
    for (const std::int64_t ns : {1LL, 999LL, 1000LL, 61'000'000'000LL, 7'200'000'000'000LL}) {
        EXPECT_EQ(duration(duration_to_text(ns)), ns);
    }
}

TEST(Values, ReadSizesInPowersOf1024) {
    const auto bytes = [](std::string_view text) {
        const Result<std::uint64_t> value = parse_bytes(text);
        return value ? static_cast<std::int64_t>(value.value()) : -1;
    };
    EXPECT_EQ(bytes("4096"), 4096);
    EXPECT_EQ(bytes("0"), 0);
    EXPECT_EQ(bytes("64k"), 65536);
    EXPECT_EQ(bytes("64M"), 67108864);
    EXPECT_EQ(bytes("2GiB"), 2147483648);
    EXPECT_EQ(bytes("2gB"), 2147483648);
    for (const char* text :
         {"", "k", "-1", "1.5M", "1X", "1Mi", "99999999999999999999", "18446744073709551615k"}) {
        EXPECT_EQ(bytes(text), -1) << text;
    }
}

TEST(Values, ReadCountsUpTo64Bits) {
    EXPECT_EQ(parse_count("18446744073709551615").value(), 18446744073709551615ULL);
    EXPECT_FALSE(parse_count("18446744073709551616"));
    EXPECT_FALSE(parse_count("1.0"));
    EXPECT_FALSE(parse_count(""));
    EXPECT_TRUE(parse_positive_count("1"));
    EXPECT_FALSE(parse_positive_count("0"));
}

TEST(Values, SplitListsAtCommas) {
    EXPECT_EQ(parse_list("a, b,c").value(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_FALSE(parse_list(""));
    EXPECT_FALSE(parse_list("a,,b"));
    EXPECT_FALSE(parse_list("a,"));
}

}  // namespace
}  // namespace driftless
