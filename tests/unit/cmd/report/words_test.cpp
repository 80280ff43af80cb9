// Plots have the width and height that was asked for, and an eighth of a cell is not lost.
#include <gtest/gtest.h>

#include "cmd/report/screen_text.hpp"

namespace driftless {
namespace {

using Lines = std::vector<std::string>;

TEST(Plots, BarsFillTheirCells) {
    EXPECT_EQ(bar(0, 8, 4), "    ");
    EXPECT_EQ(bar(8, 8, 4), "████");
    EXPECT_EQ(bar(4, 8, 4), "██  ");
    EXPECT_EQ(bar(5, 8, 4), "██▌ ");
    EXPECT_EQ(bar(1e-9, 8, 4), "▏   ");  // something is not nothing
    EXPECT_EQ(bar(9, 8, 4), "████");
    EXPECT_EQ(bar(1, 0, 2), "  ");
}

TEST(Plots, ColumnsStandOnTheBottomLine) {
    const std::vector<std::uint64_t> values{0, 16, 8, 1, 9};
    EXPECT_EQ(columns(values, 2), (Lines{" █  ▁", " ██▁█"}));
    EXPECT_EQ(columns(std::vector<std::uint64_t>{0, 0}, 1), Lines{"  "});
    EXPECT_EQ(columns({}, 2), (Lines{"", ""}));
}

TEST(Plots, NumbersAreGrouped) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(144793823), "144,793,823");
}

}  // namespace
}  // namespace driftless
