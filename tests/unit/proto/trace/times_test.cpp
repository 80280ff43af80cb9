// Times come out of their decimal text exact to the nanosecond, whatever the unit.

#include "proto/trace/times.hpp"

#include <gtest/gtest.h>

namespace driftless {

namespace {

// Worked out by hand; the epochs are those that a double or a float would change.
TEST(DecimalTime, IsExact) {
    EXPECT_EQ(parse_time("27482", TimeUnit::ms).value(), 27'482'000'000);
    EXPECT_EQ(parse_time("27482", TimeUnit::us).value(), 27'482'000);
    EXPECT_EQ(parse_time("0", TimeUnit::s).value(), 0);
    EXPECT_EQ(parse_time("-0.0", TimeUnit::s).value(), 0);
    EXPECT_EQ(parse_time("3536999", TimeUnit::ms).value(), 3'536'999'000'000);
    EXPECT_EQ(parse_time("1.5e3", TimeUnit::ms).value(), 1'500'000'000);
    EXPECT_EQ(parse_time("0.0000019", TimeUnit::ms).value(), 1) << "digits below 1 ns are cut";
    EXPECT_EQ(parse_time("1732060800123.456789", TimeUnit::ms).value(), 1732060800123456789);
    EXPECT_EQ(parse_time("1732060800.123456789", TimeUnit::s).value(), 1732060800123456789);
    EXPECT_EQ(parse_time("1732060800123456789", TimeUnit::ns).value(), 1732060800123456789);
}

// The bound, one below and one above.
TEST(DecimalTime, EndsAtItsBound) {
    EXPECT_EQ(parse_time("4611686018427387903", TimeUnit::ns).value(), time_max_ns - 1);
    EXPECT_EQ(parse_time("4611686018427387904", TimeUnit::ns).value(), time_max_ns);
    EXPECT_EQ(parse_time("4611686018427387905", TimeUnit::ns).error().code,
              ErrorCode::out_of_range);
    EXPECT_EQ(parse_time("1e300", TimeUnit::ms).error().code, ErrorCode::out_of_range);
}

// Negative times are out of range; what is no decimal is invalid.
TEST(DecimalTime, RefusesTheRest) {
    EXPECT_EQ(parse_time("-1", TimeUnit::ms).error().code, ErrorCode::out_of_range);
    EXPECT_EQ(parse_time("-0.001", TimeUnit::ms).error().code, ErrorCode::out_of_range);
    for (const char* text : {"", "NaN", "Infinity", "12:00", "true", "1 s"}) {
        EXPECT_EQ(parse_time(text, TimeUnit::ms).error().code, ErrorCode::invalid) << text;
    }
}

// A time that stands alone shows its unit by its shape or its magnitude, or not at all.
TEST(DecimalTime, GuessesTheUnit) {
    EXPECT_EQ(guess_time_unit("1732060800"), TimeUnit::s);
    EXPECT_EQ(guess_time_unit("1732060800.5"), TimeUnit::s);
    EXPECT_EQ(guess_time_unit("1732060800123"), TimeUnit::ms);
    EXPECT_EQ(guess_time_unit("1732060800123456"), TimeUnit::us);
    EXPECT_EQ(guess_time_unit("1732060800123456789"), TimeUnit::ns);
    EXPECT_EQ(guess_time_unit("2024-05-12 00:00:00+00:00"), TimeUnit::iso);
    EXPECT_EQ(guess_time_unit("999999999"), std::nullopt);
    EXPECT_EQ(guess_time_unit("1000000000"), TimeUnit::s);
    EXPECT_EQ(guess_time_unit("9999999999"), TimeUnit::s);
    EXPECT_EQ(guess_time_unit("10000000000"), std::nullopt);
    EXPECT_EQ(guess_time_unit("27482"), std::nullopt);
    EXPECT_EQ(guess_time_unit("-1732060800"), std::nullopt);
    EXPECT_EQ(guess_time_unit("noon"), std::nullopt);
}

// Units are named as --time-unit spells them.
TEST(DecimalTime, UnitsHaveNames) {
    for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns,
                                TimeUnit::iso, TimeUnit::automatic}) {
        EXPECT_EQ(time_unit_from_name(name_of(unit)), unit);
    }
    EXPECT_FALSE(time_unit_from_name("sec").has_value());
    EXPECT_FALSE(time_unit_from_name("").has_value());
}

// Written times are as short as they read back to the same nanosecond.
TEST(DecimalTime, IsWrittenAsItIsRead) {
    EXPECT_EQ(time_text(0, TimeUnit::ms), "0");
    EXPECT_EQ(time_text(27'482'000'000, TimeUnit::ms), "27482");
    EXPECT_EQ(time_text(1'500'001, TimeUnit::ms), "1.500001");
    EXPECT_EQ(time_text(100'000, TimeUnit::ms), "0.1");
    EXPECT_EQ(time_text(7, TimeUnit::s), "0.000000007");
    EXPECT_EQ(time_text(7, TimeUnit::ns), "7");
    for (const std::int64_t ns : {std::int64_t{1}, std::int64_t{999'999'999}, time_max_ns}) {
        for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
            EXPECT_EQ(parse_time(time_text(ns, unit), unit).value(), ns);
        }
    }
}

// Wall clocks come out exact to the nanosecond; the expectations are those of `date --date`.

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
