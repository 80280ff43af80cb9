// Wall clocks come out exact to the nanosecond; the expectations are those of `date --date`.
#include "proto/trace/iso_time.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

std::int64_t ns_of(std::string_view text) {
    const Result<std::int64_t> ns = parse_iso_time(text);
    return ns ? ns.value() : -1;
}

// Every spelling that the Azure traces have.
TEST(IsoTime, ReadsAzuresSpellings) {
    EXPECT_EQ(ns_of("2023-11-16 18:17:03.9799600"), 1700158623 * ns_per_s + 979'960'000);
    EXPECT_EQ(ns_of("2024-05-12 00:00:00.001163+00:00"), 1715472000 * ns_per_s + 1'163'000);
    EXPECT_EQ(ns_of("2024-05-12 00:00:00+00:00"), 1715472000 * ns_per_s);
    EXPECT_EQ(ns_of("2024-10-15T12:00:00.269Z"), 1728993600 * ns_per_s + 269'000'000);
}

TEST(IsoTime, ReadsZonesAndFractions) {
    EXPECT_EQ(ns_of("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(ns_of("2000-02-29T23:59:59"), 951868799 * ns_per_s);
    EXPECT_EQ(ns_of("2024-02-29t12:00:00z"), 1709208000 * ns_per_s);
    EXPECT_EQ(ns_of("2024-03-01T00:00:00+05:30"), 1709231400 * ns_per_s);
    EXPECT_EQ(ns_of("2024-03-01T00:00:00-0800"), 1709280000 * ns_per_s);
    EXPECT_EQ(ns_of("2024-03-01T00:00:00+01"), 1709247600 * ns_per_s);
    EXPECT_EQ(ns_of("2024-03-01T00:00:00.123456789"), 1709251200 * ns_per_s + 123'456'789);
    EXPECT_EQ(ns_of("2024-03-01T00:00:00.1234567899"), 1709251200 * ns_per_s + 123'456'789);
    EXPECT_EQ(ns_of("2115-12-31T23:59:59Z"), 4607279999 * ns_per_s);
}

TEST(IsoTime, RefusesTheRest) {
    for (const char* text : {"",
                             "2024",
                             "2024-01-01",
                             "2024-13-01T00:00:00",
                             "2023-02-29T00:00:00",
                             "1900-02-29T00:00:00",
                             "2024-00-01T00:00:00",
                             "2024-01-00T00:00:00",
                             "2024-01-32T00:00:00",
                             "2024-01-01T24:00:00",
                             "2024-01-01T00:60:00",
                             "2024-01-01T00:00:60",
                             "2024-01-01T00:00:00.",
                             "2024-01-01T00:00:00 ",
                             "2024-01-01T00:00:00+",
                             "2024-01-01T00:00:00+5",
                             "2024-01-01T00:00:00+05:",
                             "2024-01-01T00:00",
                             "2024-1-1T00:00:00",
                             "2024-01-01X00:00:00",
                             "18:15:46"}) {
        EXPECT_EQ(parse_iso_time(text).error().code, ErrorCode::invalid) << text;
    }
    for (const char* text : {"1969-12-31T23:59:59Z", "2116-01-01T00:00:00Z", "0001-01-01T00:00:00",
                             "1970-01-01T00:00:00+00:01"}) {
        EXPECT_EQ(parse_iso_time(text).error().code, ErrorCode::out_of_range) << text;
    }
}

TEST(IsoTime, ACommaMayStandBeforeTheFraction) {
    const auto point = parse_iso_time("2023-11-16 18:15:46.680");
    const auto comma = parse_iso_time("2023-11-16 18:15:46,680");
    ASSERT_TRUE(point && comma);
    EXPECT_EQ(point.value(), comma.value());
}

}  // namespace
}  // namespace driftless
