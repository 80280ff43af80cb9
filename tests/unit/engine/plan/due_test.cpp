// Which requests are abandoned, and when: the share and the times are those that were asked for,
// and a draw depends on the seed and the request alone.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/plan/plan.hpp"
#include "tests/unit/engine/plan/goodness_of_fit.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(Abandonment, HasItsShareAndItsTimes) {
    constexpr std::uint32_t requests = 20'000;
    for (const double share : {0.01, 0.1, 0.5, 0.99}) {
        const AbandonRules rules{share, 2 * second, 10 * second, 7};
        std::vector<double> times;
        for (std::uint32_t row = 0; row < requests; ++row) {
            if (const auto after_ns = abandoned_after_ns(rules, {row, 0, 0}); after_ns) {
                times.push_back(static_cast<double>(*after_ns));
            }
        }
        const double spread = std::sqrt(requests * share * (1 - share));
        EXPECT_NEAR(static_cast<double>(times.size()), requests * share, 4 * spread) << share;
        const auto even = [](double ns) { return (ns - 2e9) / 8e9; };
        EXPECT_LT(distance_from(times, even), fits_at_one_percent) << share;
    }
}

TEST(Abandonment, IsOfNoneOrOfAll) {
    EXPECT_FALSE(AbandonRules().any());
    EXPECT_EQ(abandoned_after_ns({}, {1, 0, 0}), std::nullopt);
    for (std::uint32_t row = 0; row < 100; ++row) {
        EXPECT_EQ(abandoned_after_ns({1, second, second, 3}, {row, 0, 0}), second);
    }
}

// Passes, attempts and seeds are drawn apart; the order of the draws does not matter.
TEST(Abandonment, DependsOnTheRequestAlone) {
    const AbandonRules rules{0.5, 0, second, 1};
    const AbandonRules other{0.5, 0, second, 2};
    std::uint32_t same_pass = 0;
    std::uint32_t same_attempt = 0;
    std::uint32_t same_seed = 0;
    for (std::uint32_t row = 0; row < 100; ++row) {
        const auto drawn = abandoned_after_ns(rules, {row, 0, 0});
        EXPECT_EQ(abandoned_after_ns(rules, {row, 0, 0}), drawn);
        same_pass += abandoned_after_ns(rules, {row, 1, 0}) == drawn ? 1 : 0;
        same_attempt += abandoned_after_ns(rules, {row, 0, 1}) == drawn ? 1 : 0;
        same_seed += abandoned_after_ns(other, {row, 0, 0}) == drawn ? 1 : 0;
    }
    for (const std::uint32_t same : {same_pass, same_attempt, same_seed}) {
        EXPECT_GT(same, 10u);  // both wait
        EXPECT_LT(same, 40u);
    }
}

}  // namespace
}  // namespace driftless
