/// The laws (laws.hpp) of token budgets: how much may leave in a time, and when a budget holds
/// rows back. Pure functions, in whole numbers, which know nothing of the buckets of the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// A budget that is used up, by the rows that left before `until_ns`; run time.
struct UsedUp {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;  ///< when it is above 0 again
};
std::vector<UsedUp> used_up(const SimResult& result, std::int64_t until_ns);

/// When the bucket was full and nobody took of it, of rows that left before `until_ns`; of a run
/// with one budget.
std::vector<UsedUp> ran_over(const SimResult& result, std::int64_t until_ns);

std::string budgets_are_kept(const SimResult& result);

}  // namespace driftless::sim
