// Distances of distributions and of hit curves, on traces small enough to reckon by hand.
#include "engine/inspect/likeness.hpp"

#include "tests/unit/engine/synth/made.hpp"

namespace driftless {
namespace {

TEST(Likeness, FindsTheGreatestDistance) {
    EXPECT_EQ(greatest_distance({}, {}), 0);
    EXPECT_EQ(greatest_distance({1}, {}), 1);
    EXPECT_EQ(greatest_distance({1, 2, 3}, {3, 2, 1}), 0);
    EXPECT_EQ(greatest_distance({1, 2, 3, 4}, {5, 6}), 1);
    EXPECT_EQ(greatest_distance({1, 1, 2, 2}, {1, 2, 2, 2}), 0.25);
    EXPECT_EQ(greatest_distance({1, 2, 3, 4}, {1, 2, 3, 4, 4, 4, 4, 4}), 0.375);
}

TEST(Likeness, ComparesHitRatesAtFiveSizes) {
    const Trace often =
        made_trace("stress working-set --in 16 --working-set 1024..1024 --steps 1 --rounds 4");
    const Trace seldom =
        made_trace("stress working-set --in 16 --working-set 1024..1024 --steps 1 --rounds 2");
    const std::vector<std::uint32_t> alone(often.rows.size() + seldom.rows.size(), 0);
    const Result<Likeness> made = likeness_of({often, alone}, {seldom, alone});
    ASSERT_TRUE(made);
    const Likeness& like = made.value();
    ASSERT_EQ(like.curve.size(), 4U);  // 64, 16, 4 and 1 blocks: there is no smaller one
    EXPECT_EQ(like.curve[3].blocks, 64U);
    EXPECT_EQ(like.curve[3].before, 0.75);
    EXPECT_EQ(like.curve[3].after, 0.5);
    EXPECT_EQ(like.curve[2].before, 0);
    EXPECT_EQ(like.curve_worst, 0.25);
    EXPECT_EQ(like.input, 0);
}

TEST(Likeness, HasNoCurveWithoutBlocks) {
    const Trace trace = made_trace("random --rows 10");
    const std::vector<std::uint32_t> trees{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const Result<Likeness> made = likeness_of({trace, trees}, {trace, trees});
    ASSERT_TRUE(made);
    EXPECT_TRUE(made.value().curve.empty());
    EXPECT_EQ(made.value().gaps_before, 0U);
}

}  // namespace
}  // namespace driftless
