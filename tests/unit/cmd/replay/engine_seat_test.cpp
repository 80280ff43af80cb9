// What an engine gets of the caps of a run: parts that add up to them, and never "no bound" of one.
#include "cmd/replay/engine_crew.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

ReplaySettings caps_of(std::uint32_t number) {
    ReplaySettings settings;
    settings.inflight_max = number;
    settings.lanes_max = number;
    settings.connections_fixed = number;
    settings.budgets.input.tokens = number;
    settings.budgets.output.tokens = number;
    return settings;
}

TEST(EngineSeat, PartsOfCapsAddUp) {
    for (const std::uint32_t engines : {1U, 2U, 3U, 8U}) {
        ReplaySettings sum = caps_of(0);
        for (std::uint32_t number = 0; number < engines; ++number) {
            const ReplaySettings part = settings_at(caps_of(1003), {number, engines});
            sum.inflight_max += part.inflight_max;
            sum.lanes_max += part.lanes_max;
            sum.connections_fixed += part.connections_fixed;
            sum.budgets.input.tokens += part.budgets.input.tokens;
            sum.budgets.output.tokens += part.budgets.output.tokens;
        }
        EXPECT_EQ(sum.inflight_max, 1003u);
        EXPECT_EQ(sum.lanes_max, 1003u);
        EXPECT_EQ(sum.connections_fixed, 1003u);
        EXPECT_EQ(sum.budgets.input.tokens, 1003u);
        EXPECT_EQ(sum.budgets.output.tokens, 1003u);
    }
}

// 0 would mean that there is no cap at all; no cap stays none.
TEST(EngineSeat, PartsOfSmallCapsAreCaps) {
    const ReplaySettings part = settings_at(caps_of(1), {7, 8});
    EXPECT_EQ(part.connections_fixed, 1u);
    EXPECT_EQ(part.budgets.output.tokens, 1u);
    const ReplaySettings none = settings_at(caps_of(0), {7, 8});
    EXPECT_EQ(none.connections_fixed, 0u);
    EXPECT_FALSE(none.budgets.any());
}

}  // namespace
}  // namespace driftless
