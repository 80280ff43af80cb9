// Pages of metrics as people name them; what is wrong is said with the remedy.
#include "cmd/replay/flags/metrics_values.hpp"

#include <gtest/gtest.h>

#include "cmd/secrets.hpp"
#include "tests/unit/cmd/replay/flags/parse_flags.hpp"

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
