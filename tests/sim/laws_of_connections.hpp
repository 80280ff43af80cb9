/// The laws (laws.hpp) that speak of connections: what is sent on which, and when. Pure functions.
#pragma once

#include <string>

#include "proto/trace/row.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

std::string sent_bytes_were_taken(const SimResult& result);
std::string servers_can_read(const SimResult& result);
std::string limits_kept(const SimResult& result);
std::string connections_as_asked(const SimResult& result);
std::string sessions_stay(const SimResult& result);

// Laws of dual fire. Each returns what broke it; empty: nothing.

/// "each row goes once to each side": at the same due, to the server of that side.
std::string each_row_once_to_each_side(const SimResult& result);
/// "sides have the plan's order": who is first follows from the seed, and as often a as b.
std::string sides_have_the_plans_order(const SimResult& result);
/// "sides have lanes of their own"
std::string sides_have_lanes_of_their_own(const SimResult& result);
/// "no side disturbs the other": where one server refuses, resets and stalls, the other's rows
/// leave and are answered as if it did not.
std::string no_side_disturbs_the_other(const SimResult& result);

// Laws of turns that leave before the turn before them has ended: what records say of that is what
// their instants say. Computed from trace and records alone. Pure functions of a run's result.

struct KilledRun;

TurnsBefore turns_before(const Trace& trace);

/// "overtaken is what the instants say"
std::string overtaken_is_true(const SimResult& result);
/// "overtaken is what the instants say over segments", in whatever segment each turn ended.
std::string overtaken_is_true_over_segments(const KilledRun& run);

}  // namespace driftless::sim
