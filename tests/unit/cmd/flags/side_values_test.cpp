// Timed events as people type them, alone and in files; what is wrong is said with the remedy.

#include <gtest/gtest.h>

#include <fstream>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/replay_values.hpp"
#include "tests/unit/cmd/flags/parse_flags.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

TEST(EventValues, ReadsWhatIsToBeDone) {
    const Result<TypedEvent> post = parse_event("+90s post http://a:8000/start_profile");
    ASSERT_TRUE(post);
    EXPECT_EQ(post.value().at_ns, 90'000'000'000);
    EXPECT_EQ(post.value().kind, TimedEventKind::post);
    EXPECT_EQ(post.value().url.host, "a");
    EXPECT_EQ(post.value().url.port, 8000);
    EXPECT_EQ(post.value().url.path, "/start_profile");
    const Result<TypedEvent> run = parse_event("  +1.5m   run  ./kill-pod.sh  a  b ");
    ASSERT_TRUE(run);
    EXPECT_EQ(run.value().at_ns, 90'000'000'000);
    EXPECT_EQ(run.value().kind, TimedEventKind::run);
    EXPECT_EQ(run.value().what, "./kill-pod.sh  a  b");
    const Result<TypedEvent> label = parse_event("+0 label phase=degraded");
    ASSERT_TRUE(label);
    EXPECT_EQ(label.value().at_ns, 0);
    EXPECT_EQ(label.value().what, "phase=degraded");
}

TEST(EventValues, RefusesTheRest) {
    for (const char* text :
         {"", "90s run x", "+90s", "+90s run", "+90s run  ", "+ run x", "+-1s run x", "+1x run x",
          "+1s jump x", "+1s post", "+1s post http://", "+1s post http://u:word@h/x",
          "+1s post http://h/x?key=1"}) {
        EXPECT_FALSE(parse_event(text)) << text;
    }
}

// Credentials of a URL are refused; the refusal does not show them.
TEST(EventValues, AreShownWithoutCredentials) {
    EXPECT_EQ(mask_value("--event", "+1s post http://u:word@h/x"), "+1s post http://***@h/x");
    EXPECT_EQ(mask_value("--event", "+1s run echo a@b"), "+1s run echo a@b");
}

TEST(EventValues, ReadsAFileOfThem) {
    const ScratchFolder folder;
    const std::string path = folder.path() + "/events.txt";
    std::ofstream(path) << "# comment\n\n+1s label a\r\n  +2s run b\n";
    std::vector<TypedEvent> events;
    EXPECT_EQ(read_events(path, events), "");
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].what, "b");
    std::ofstream(path) << "+1s label a\n1s label a\n";
    EXPECT_TRUE(says(read_events(path, events), "events.txt:2: \"1s label a\" is not an event"));
    EXPECT_TRUE(says(read_events(path + "x", events), "cannot be read"));
}

// Pages of metrics as people name them; what is wrong is said with the remedy.

TEST(MetricsValues, ReadsPlaces) {
    EXPECT_EQ(parse_metrics_place("auto").value().kind, MetricsPlace::Kind::automatic);
    EXPECT_EQ(parse_metrics_place("none").value().kind, MetricsPlace::Kind::none);
    const MetricsPlace page = parse_metrics_place("https://gpu:9400/a/metrics").value();
    EXPECT_EQ(page.kind, MetricsPlace::Kind::url);
    EXPECT_EQ(page.url.path, "/a/metrics");
    EXPECT_EQ(parse_metrics_place("gpu:9400").value().url.path, "/metrics");
    EXPECT_FALSE(parse_metrics_place("ftp://gpu"));
    EXPECT_FALSE(parse_metrics_place(""));
}

TEST(MetricsValues, ReadsPeriods) {
    EXPECT_EQ(parse_metrics_period("100ms").value(), 100'000'000);
    EXPECT_EQ(parse_metrics_period("1h").value(), 3'600'000'000'000);
    EXPECT_FALSE(parse_metrics_period("99ms"));
    EXPECT_FALSE(parse_metrics_period("3601s"));
    EXPECT_FALSE(parse_metrics_period("often"));
}

TEST(MetricsValues, AutoHoldsUnlessPagesAreNamed) {
    EXPECT_TRUE(options_with({}).metrics.automatic());
    EXPECT_EQ(options_with({}).metrics.period_ns, 1'000'000'000);
    EXPECT_FALSE(options_with({"--metrics", "none"}).metrics.automatic());
    EXPECT_FALSE(options_with({"--metrics", "http://a:1"}).metrics.automatic());
    const ReplayOptions both = options_with({"--metrics", "http://a:1", "--metrics", "auto"});
    EXPECT_TRUE(both.metrics.automatic());
    EXPECT_EQ(both.metrics.places.size(), 2U);
    EXPECT_TRUE(
        says(refusal_with({"--metrics", "none", "--metrics", "auto"}), "cannot be combined"));
    Words many;
    for (std::size_t i = 0; i < metrics_places_max; ++i) {
        many.insert(many.end(), {"--metrics", "http://a:" + std::to_string(i + 1)});
    }
    EXPECT_EQ(options_with(many).metrics.places.size(), metrics_places_max);
    many.insert(many.end(), {"--metrics", "auto"});
    EXPECT_TRUE(says(refusal_with(many), "32 at most"));
}

TEST(MetricsValues, MasksKeysInUrls) {
    EXPECT_EQ(mask_value("--metrics", "http://me:pw@a/metrics"), "http://***@a/metrics");
}

// Values of the flags of several machines: what is typed, and what is refused.

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
