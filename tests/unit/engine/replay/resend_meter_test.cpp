// Counts as the kernel gives them for a connection, and what they say of one exchange.
#include "engine/replay/resend_meter.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(ResendMeter, CountsWhatIsOfOneExchange) {
    ResendMeter meter({2, 2});
    ResendMeter::Spent spent = meter.take({2, 2});
    EXPECT_EQ(spent.segments, 0u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({4, 4});  // in vain, and the server said so in time
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({6, 5});
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_TRUE(spent.lost);
}

// The word of an exchange that is over hid the loss of the next one: it came before that was sent,
// or in the middle of it.
TEST(ResendMeter, GivesALateWordToNoLaterExchange) {
    ResendMeter meter({0, 0});
    EXPECT_TRUE(meter.take({1, 0}).lost);  // the word is still under way
    const ResendMeter::Spent next = meter.take({2, 1});
    EXPECT_EQ(next.segments, 1u);
    EXPECT_TRUE(next.lost);
    EXPECT_FALSE(meter.take({2, 1}).lost);  // nothing was sent again
    EXPECT_FALSE(meter.take({3, 3}).lost);  // both words came, and that of its own
}

// A loss is owed its word for ever.
TEST(ResendMeter, ExcusesNothingBehindALoss) {
    ResendMeter meter({0, 0});
    EXPECT_TRUE(meter.take({1, 0}).lost);
    EXPECT_TRUE(meter.take({2, 1}).lost);
    EXPECT_TRUE(meter.take({3, 2}).lost);
}

// Copies that the network makes are said to be there twice, though nothing was sent again.
TEST(ResendMeter, SeesCopiesOfTheNetwork) {
    ResendMeter meter({0, 0});
    EXPECT_FALSE(meter.take({1, 1}).copied);
    const ResendMeter::Spent spent = meter.take({2, 3});
    EXPECT_TRUE(spent.copied);
    EXPECT_EQ(spent.segments, 1u);
    EXPECT_FALSE(spent.lost);  // by that word, which may be a copy's
}

}  // namespace
}  // namespace driftless
