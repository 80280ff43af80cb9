// When users are added: while there is room, never right after, and only on what is known.
#include "engine/record/growth.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

namespace driftless {
namespace {

constexpr double limit = 1000;

GrowRules rules(std::uint32_t first, std::uint32_t most, GrowFigure figure = GrowFigure::avg) {
    GrowRules some;
    some.figure = figure;
    some.limit_ns = static_cast<std::int64_t>(limit);
    some.users_first = first;
    some.users_max = most;
    return some;
}

/// A period in which everything measured was this part of the limit.
Distribution measured(double part) {
    Sample sample;
    sample.add(part * limit);
    return sample.distribution();
}

struct Grown {
    std::atomic<std::uint32_t> wanted{0};
    Growth growth;
    explicit Grown(const GrowRules& some) : growth(some, wanted) {}
    std::uint32_t after(double part, std::uint64_t failed = 0, std::uint64_t begun = UINT64_MAX) {
        growth.look(measured(part), failed, begun);
        return wanted;
    }
};

// One, and one more for each 15 % of the limit.
TEST(Growth, AddsAsManyAsThereIsRoomFor) {
    for (const auto& [part, added] :
         {std::pair(0.81, 0U), {0.79, 2U}, {0.71, 2U}, {0.69, 3U}, {0.5, 4U}, {0.0, 7U}}) {
        Grown grown(rules(2, 100));
        EXPECT_EQ(grown.wanted, 2u);
        EXPECT_EQ(grown.after(part), 2 + added) << part;
    }
    Grown grown(rules(2, 4));
    EXPECT_EQ(grown.after(0), 4u);
}

// What was measured before all of the users had begun is not looked at, however many periods that
// takes, and what was before is forgotten.
TEST(Growth, WaitsUntilTheNewUsersShow) {
    Grown grown(rules(1, 100));
    const std::uint32_t first = grown.after(0.5);
    for (const std::uint32_t begun : {1U, 1U, 1U, first - 1}) {
        EXPECT_EQ(grown.after(0.1, 0, begun), first);
    }
    EXPECT_EQ(grown.after(0.9, 0, first), first);
    EXPECT_EQ(grown.after(0.9), first);
    EXPECT_EQ(grown.after(0.1), first + 3);  // of three: 0.63
}

// Between 80 % of the limit and the limit nothing changes, and beyond it nobody goes.
TEST(Growth, NeverGivesUsersUp) {
    Grown grown(rules(3, 100));
    for (const double part : {0.85, 0.99, 1.0, 5.0}) {
        EXPECT_EQ(grown.after(part), 3u);
    }
}

TEST(Growth, KnowsWhenItKnowsNothing) {
    Grown grown(rules(3, 100));
    grown.growth.look(Distribution(), 0, 3);
    EXPECT_EQ(grown.wanted, 3u);
    EXPECT_EQ(grown.after(0.1, 1), 3u);  // a request has failed
    EXPECT_GT(grown.after(0.1), 3u);
}

TEST(Growth, LooksAtTheFigureThatItIsTold) {
    Sample sample;
    for (int i = 1; i <= 100; ++i) {
        sample.add(i);
    }
    for (const auto& [figure, value] : {std::pair(GrowFigure::avg, 50.5),
                                        {GrowFigure::p50, 50},
                                        {GrowFigure::p90, 90},
                                        {GrowFigure::p95, 95},
                                        {GrowFigure::p99, 99},
                                        {GrowFigure::max, 100}}) {
        GrowRules some = rules(1, 2, figure);
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) + 1;
        Grown above(some);
        above.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(above.wanted, 2u) << value;
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) - 1;
        Grown below(some);
        below.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(below.wanted, 1u) << value;
    }
}

}  // namespace
}  // namespace driftless
