// How many values a percentile needs: the table of MLPerf Endpoints (docs/early_stopping.md).
#include "engine/knee/floors.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(Floors, AreThoseOfMlperf) {
    EXPECT_EQ(percentile_floor(500), 11U);
    EXPECT_EQ(percentile_floor(750), 24U);
    EXPECT_EQ(percentile_floor(900), 64U);
    EXPECT_EQ(percentile_floor(950), 130U);
    EXPECT_EQ(percentile_floor(990), 662U);
    EXPECT_EQ(percentile_floor(999), 6636U);
    EXPECT_EQ(percentile_floor(250), 24U);
}

}  // namespace
}  // namespace driftless
