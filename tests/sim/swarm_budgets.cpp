// The token budgets of the swarm.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t budgets_stream = 0xB0D6E7;

/// So many tokens may leave in 20 ms to 3 s, and in one period from a hundredth of them on.
TokenRate drawn_rate(Random& random, std::uint64_t tokens) {
    const std::uint64_t whole_ms = 20 + random.below(3'000);
    const std::uint64_t period_ms = 1 + random.below(400);
    return {1 + tokens * period_ms / whole_ms, milliseconds(static_cast<std::int64_t>(period_ms))};
}

}  // namespace

void draw_budgets(std::uint64_t seed, const Trace& trace, SimOptions& options) {
    Random random(mix64(seed ^ budgets_stream));
    if (random.below(3) != 0) {
        return;
    }
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    for (const TraceRow& row : trace.rows) {
        input += row.input_length;
        output += row.output_length;
    }
    const std::uint64_t which = random.below(3);
    options.budgets.uncached = random.below(2) == 0;
    if (which != 0) {
        options.budgets.input = drawn_rate(random, input);
    }
    if (which != 1) {
        options.budgets.output = drawn_rate(random, output);
    }
}

}  // namespace driftless::sim
