// Laws give what they say: Kolmogorov-Smirnov at 1 % against distributions that the C library
// computes.
#include "engine/plan/synth_spec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "proto/core/numbers.hpp"

namespace driftless {
namespace {

constexpr int draws = 10'000;
/// Critical value of the Kolmogorov-Smirnov statistic at 1 %. Whole numbers only make it smaller.
const double ks_critical = 1.628 / std::sqrt(double{draws});

/// The greatest distance of the drawn values from P(value <= x).
double distance(const ValueLaw& law, std::uint64_t seed,
                const std::function<double(double)>& below) {
    Random random(seed);
    std::vector<std::int64_t> values;
    for (int i = 0; i < draws; ++i) {
        values.push_back(draw(law, random));
    }
    std::sort(values.begin(), values.end());
    double greatest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i + 1 < values.size() && values[i + 1] == values[i]) {
            continue;  // of equal values the last one
        }
        const double share = static_cast<double>(i + 1) / draws;
        greatest = std::max(greatest, std::abs(share - below(static_cast<double>(values[i]))));
    }
    return greatest;
}

double normal_below(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

ValueLaw real_law(LawKind kind, double centre, double spread) {
    return {.kind = kind, .centre = centre, .spread = spread, .low = 1, .high = 1 << 27};
}

TEST(ValueLaw, DrawsNormal) {
    const ValueLaw law = real_law(LawKind::normal, 512, 100);
    for (std::uint64_t seed = 2; seed <= 4; ++seed) {
        EXPECT_LT(distance(law, seed, [](double x) { return normal_below((x + 0.5 - 512) / 100); }),
                  ks_critical);
    }
}

TEST(ValueLaw, DrawsAgainWhatFallsOutside) {
    ValueLaw law = real_law(LawKind::normal, 100, 100);
    law.high = 200;
    const auto cdf = [](double x) { return normal_below((x + 0.5 - 100) / 100); };
    EXPECT_LT(distance(law, 7, [&](double x) { return (cdf(x) - cdf(0)) / (cdf(200) - cdf(0)); }),
              ks_critical);
}

TEST(ValueLaw, DrawsLognormal) {
    const ValueLaw law = real_law(LawKind::lognormal, 5000, 1.2);
    EXPECT_LT(
        distance(law, 3, [](double x) { return normal_below(std::log((x + 0.5) / 5000) / 1.2); }),
        ks_critical);
}

TEST(ValueLaw, DrawsExponential) {
    ValueLaw law = real_law(LawKind::exponential, 1e8, 0);
    law.high = std::int64_t{1} << 62;
    EXPECT_LT(distance(law, 5, [](double x) { return 1 - std::exp(-(x + 0.5) / 1e8); }),
              ks_critical);
}

TEST(ValueLaw, DrawsUniform) {
    ValueLaw law = fixed_law(0);
    law.kind = LawKind::uniform;
    law.low = 10;
    law.high = 1009;
    EXPECT_LT(distance(law, 2, [](double x) { return (x - 9) / 1000; }), ks_critical);
}

TEST(ValueLaw, DrawsTheBinsOfAHistogram) {
    std::uint64_t line = 0;
    const auto bins =
        read_law_bins("length,weight\r\n# two parts\r\n5 1\n10..19,3\n7\t0\n", 1, 1, 100, line);
    ASSERT_TRUE(bins);
    ValueLaw law{.kind = LawKind::histogram, .bins = bins.value()};
    EXPECT_EQ(law.bins.size(), 2U);
    EXPECT_LT(distance(law, 2, [](double x) { return x < 10 ? 0.25 : 0.25 + 0.75 * (x - 9) / 10; }),
              ks_critical);
}

TEST(ValueLaw, RefusesOtherHistograms) {
    const auto refusal = [](std::string_view text) {
        std::uint64_t line = 0;
        const auto bins = read_law_bins(text, 1, 1, 100, line);
        return bins ? "read" : std::to_string(line) + " " + bins.error().doing;
    };
    EXPECT_EQ(refusal("5,1\nabc\n"), "2 is not a value and its weight, as in 512,40");
    EXPECT_EQ(refusal("0,1\n"), "1 has a value out of range");
    EXPECT_EQ(refusal("101,1\n"), "1 has a value out of range");
    EXPECT_EQ(refusal("9..5,1\n"), "1 has a range that ends before it begins");
    EXPECT_EQ(refusal("5,-1\n"), "1 has a weight that is not a whole number up to 10^12");
    EXPECT_EQ(refusal("5,0\n"), "0 has no line with a value and a weight above 0");
    EXPECT_EQ(refusal(""), "0 has no line with a value and a weight above 0");
    EXPECT_EQ(refusal("\xFF\xFE,1\n"), "1 is not a value and its weight, as in 512,40");
    EXPECT_EQ(refusal("100000000000000000000,1\n"), "1 has a value out of range");
}

TEST(ValueLaw, KnowsWhatLiesInside) {
    EXPECT_NEAR(share_inside(real_law(LawKind::normal, 512, 100)), 1, 1e-6);
    EXPECT_LT(share_inside(real_law(LawKind::normal, 0, 1e12)), law_share_min);
    EXPECT_EQ(share_inside(real_law(LawKind::normal, 1e12, 0)), 0);
    EXPECT_EQ(share_inside(fixed_law(3)), 1);
}

TEST(ValueLaw, HasStreamsOfTheirOwn) {
    EXPECT_NE(stream_of(1, 2, 3).next(), stream_of(1, 3, 2).next());
    EXPECT_NE(stream_of(1, 2, 3).next(), stream_of(2, 2, 3).next());
    EXPECT_EQ(stream_of(1, 2, 3).next(), stream_of(1, 2, 3).next());
}

TEST(NormalQuantile, IsTheInverse) {
    Random random(1);
    for (int i = 0; i < draws; ++i) {
        const double p = random.uniform() * 0.998 + 0.001;
        EXPECT_NEAR(normal_below(normal_quantile(p)), p, 1e-14);
    }
    // Wichura (1988), table of test values.
    EXPECT_NEAR(normal_quantile(0.25), -0.6744897501960817, 1e-15);
    EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-14);
    EXPECT_NEAR(normal_quantile(1e-20), -9.262340089798408, 1e-13);
}

/// To the last bit: on a machine where one of these differs, a seed would make another trace.
TEST(NormalQuantile, IsTheSameEverywhere) {
    Random random(99);
    Digest digest;
    for (int i = 0; i < draws; ++i) {
        const double p = (static_cast<double>(random.next() >> 12) + 0.5) * 0x1.0p-52;
        const double x = normal_quantile(p);
        digest.add(std::string_view(reinterpret_cast<const char*>(&x), sizeof x));
    }
    EXPECT_EQ(digest.value(), 2383374510065801980U);
}

}  // namespace
}  // namespace driftless
