// Where rows go depends on the row alone: on its session, else on its place in the plan.
#include "engine/plan/balance.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TraceRow row_of(std::uint32_t session) {
    TraceRow row;
    row.session = session;
    return row;
}

TEST(Balance, TurnGoesRowByRow) {
    for (std::uint32_t planned = 0; planned < 9; ++planned) {
        EXPECT_EQ(target_of(Balance::turn, row_of(7), planned, 3), planned % 3);
    }
}

TEST(Balance, SessionGoesByTheSessionAlone) {
    for (std::uint32_t planned = 0; planned < 9; ++planned) {
        EXPECT_EQ(target_of(Balance::session, row_of(7), planned, 3), 1u);
        EXPECT_EQ(target_of(Balance::session, row_of(8), planned, 3), 2u);
        EXPECT_EQ(target_of(Balance::session, row_of(no_session), planned, 3), planned % 3);
        EXPECT_EQ(target_of(Balance::session, row_of(planned), planned, 1), 0u);
    }
}

}  // namespace
}  // namespace driftless
