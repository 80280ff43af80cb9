/// Small runs in which the bugs that tests of the laws plant show themselves.
#pragma once

#include "proto/trace/row.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// Rows in two halves, far enough apart for an idle connection to grow old.
Trace trace_with_a_gap(std::uint32_t seconds_apart);
/// Rows that follow each other faster than a guard is long, for longer than the first answers take.
Trace dense_trace();
/// Two trees: a chain behind the first row, and a fork with its join and a last turn.
Trace trace_of_turns();

/// Rows of those traces but the dense one.
inline constexpr std::uint32_t planted_rows = 40;

/// Two users, and a bug of theirs or none.
SimResult run_of_users(Bug bug);
/// Three rows are open at once, each a tree of its own.
SimResult run_of_single_rows(Bug bug);
/// Dual fire, where side a refuses, hangs and resets, and side b is well.
SimResult run_of_sides(Bug bug);
/// Three engines.
SimResult run_of_engines(Bug bug);
/// A run with the bug, of the kind that it needs.
SimResult run_with(Bug bug);

}  // namespace driftless::sim
