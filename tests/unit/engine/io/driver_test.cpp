// Since when something may have been waiting: a look that finds nothing is proof, one that finds a
// flag is none, and an entry that brings nothing is proof for the look before it.
#include "engine/io/driver.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(UnreadWatch, MovesOnWithLooksThatFindNothing) {
    UnreadWatch watch(Instant{10});
    watch.look(Instant{20}, false);
    EXPECT_EQ(watch.since(), Instant{20});
    watch.look(Instant{30}, true);
    EXPECT_EQ(watch.since(), Instant{20});
}

// The kernel keeps a flag that it raised behind its work until the next arrival.
TEST(UnreadWatch, MovesOnWhereAnEntryBringsNothingThoughTheFlagStays) {
    UnreadWatch watch(Instant{10});
    for (const std::int64_t at : {20, 30, 40}) {
        watch.look(Instant{at}, true);
        watch.nothing_came();
        EXPECT_EQ(watch.since(), Instant{at});
    }
}

TEST(UnreadWatch, NeverGoesBack) {
    UnreadWatch watch(Instant{50});
    watch.nothing_came();
    EXPECT_EQ(watch.since(), Instant{50});
}

}  // namespace
}  // namespace driftless
