// The time of a probe, which grows until a percentile has its values.
#include "cmd/runs/find.hpp"

#include <gtest/gtest.h>

#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(Window, GrowsWithAFifthToSpare) {
    Window window({"--recycle", "--for", "20s"});
    EXPECT_TRUE(window.can_grow());
    EXPECT_EQ(window.flags(), (Words{"--recycle", "--for", "20s"}));
    window.grow(33, 66);
    EXPECT_EQ(window.text(), "48s");
    EXPECT_EQ(window.flags(), (Words{"--recycle", "--for", "48s"}));
    window.grow(0, 1000);
    EXPECT_EQ(window.text(), "1280s");
    EXPECT_FALSE(window.can_grow());
}

TEST(Window, FindsItsFlagHoweverItIsWritten) {
    Window joined({"--duration=0.5s", "--limit", "9"});
    joined.grow(64, 64);
    EXPECT_EQ(joined.flags(), (Words{"--duration=1s", "--limit", "9"}));
    EXPECT_FALSE(Window({"--limit", "9"}).can_grow());
    EXPECT_FALSE(Window({"--for"}).can_grow());
    EXPECT_FALSE(Window({"--for", "soon"}).can_grow());
    EXPECT_EQ(Window({"--limit", "9"}).text(), "");
}

}  // namespace
}  // namespace driftless
