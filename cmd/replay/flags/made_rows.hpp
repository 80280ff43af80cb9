/// How many rows a synthetic data set needs, where its tool makes prompts for as long as its run
/// lasts. Pure.
#pragma once

#include <string>

#include "cmd/replay/flags/spelling.hpp"

namespace driftless {

/// Rows of one pass of a closed loop that ends with a time: behind them the next pass begins, whose
/// prompts are others.
inline constexpr const char* pass_rows = "10000";
/// More rows than these are not made for a rate and a time: they would not fit into memory.
inline constexpr double timed_rows_max = 1e8;

/// The number of rows: what `--limit` says; else those that a rate has due within `--duration`,
/// with some to spare, as the time cuts them; else, where a closed loop ends with `--for`,
/// `pass_rows`, and `--recycle`; else `standard`, which may be empty. Looks at arguments in our
/// spelling, after all that say a rate or a time.
std::string made_rows(Spelled& out, const std::string& standard);

}  // namespace driftless
