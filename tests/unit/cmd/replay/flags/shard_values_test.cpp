// Values of the flags of several machines: what is typed, and what is refused.
#include "cmd/replay/flags/shard_values.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(ShardValues, Parts) {
    ASSERT_TRUE(parse_shard("1/3"));
    EXPECT_EQ(parse_shard("1/3").value().place, (ShardPlace{1, 3}));
    EXPECT_FALSE(parse_shard("1/3").value().is_none);
    EXPECT_EQ(text_of(parse_shard("4095/4096").value().place), "4095/4096");
    EXPECT_FALSE(parse_shard("0/1").value().place.is_part());
    EXPECT_TRUE(parse_shard("none").value().is_none);
    for (const char* text : {"", "/", "1", "3/3", "-1/3", "0/0", "a/b", "1/3/4", "0/4097", "1 /3",
                             "None", "0x1/3", "99999999999/3"}) {
        EXPECT_FALSE(parse_shard(text)) << text;
    }
}

TEST(ShardValues, NumbersOfTheirOwn) {
    for (std::uint32_t own = 0; own < 5; ++own) {
        EXPECT_EQ((ShardPlace{0, 1}.number_of(own)), own);
        EXPECT_EQ((ShardPlace{2, 3}.number_of(own)), own * 3 + 2);
    }
}

TEST(ShardValues, MeetPlaces) {
    for (const char* text : {"node0:7100", "10.0.0.5:1", "[::1]:65535", "a.b-c.svc:80"}) {
        const Result<MeetPlace> place = parse_meet_place(text);
        ASSERT_TRUE(place) << text;
        EXPECT_EQ(text_of(place.value()), text);
    }
    for (const char* text : {"", ":", "node0", ":7100", "node0:", "node0:0", "node0:65536",
                             "::1:7100", "http://a:1", "a b:1", "[]:1", "[::1]7100", "a:-1"}) {
        EXPECT_FALSE(parse_meet_place(text)) << text;
    }
}

// Expectations by `date -u -d .. +%s`.
TEST(ShardValues, Instants) {
    EXPECT_EQ(parse_utc_ns("1970-01-01T00:00:00Z").value(), 0);
    EXPECT_EQ(parse_utc_ns("2026-11-26T05:30:00Z").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2026-11-26T07:30:00+02:00").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2026-11-25t22:00:00-07:30").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2024-02-29T12:00:00.25Z").value(), 1'709'208'000'250'000'000);
    EXPECT_EQ(parse_utc_ns("2024-02-29T12:00:00.000000001z").value(), 1'709'208'000'000'000'001);
    for (const char* text : {"",
                             "Z",
                             "2026-11-26",
                             "2026-11-26T05:30:00",
                             "2026-11-26 05:30:00Z",
                             "2026-11-26T05:30Z",
                             "2025-02-29T00:00:00Z",
                             "2026-13-01T00:00:00Z",
                             "2026-11-26T24:00:00Z",
                             "2026-11-26T05:60:00Z",
                             "2026-11-26T05:30:60Z",
                             "2026-11-26T05:30:00.Z",
                             "2026-11-26T05:30:00.1234567890Z",
                             "2026-11-26T05:30:00+2:00",
                             "2026-11-26T05:30:00+0200",
                             "2026-11-26T05:30:00ZZ",
                             "+30s",
                             "1969-12-31T23:59:59Z",
                             "2200-01-01T00:00:00Z",
                             "2026-1a-26T05:30:00Z"}) {
        EXPECT_FALSE(parse_utc_ns(text)) << text;
    }
}

}  // namespace
}  // namespace driftless
