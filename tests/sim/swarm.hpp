/// The swarm: for each seed a trace and a mix of faults, so that some runs see few kinds and some
/// see many. The same seed gives the same run for ever, as long as this file stands as it does.
#pragma once

#include "proto/trace/row.hpp"
#include "tests/sim/killed_run.hpp"

namespace driftless::sim {

/// A Mooncake-like trace: bursts on a grid, chained ids, outputs of 1 to 16 tokens.
Trace make_trace(std::uint64_t seed, std::uint32_t rows);

/// Gives a share of the rows whole bodies of their own, as saved prompts have, of the same
/// lengths; `overhead` tokens of each prompt are the server's template. `stream`: what they ask
/// for.
void record_bodies(Trace& trace, std::uint64_t seed, double share, std::uint32_t overhead,
                   bool stream = true);

SimOptions swarm_options(std::uint64_t seed);
/// In a third of the runs rows arrive at a rate.
void draw_arrivals(std::uint64_t seed, SimOptions& options);
/// In a third of the runs clients give requests up.
void draw_abandonment(std::uint64_t seed, SimOptions& options);
/// In a third of the runs a condition may end them early.
void draw_stop(std::uint64_t seed, SimOptions& options);
StopRule stop_rule(const char* figure, double bound, std::int64_t for_ns);
/// Token budgets, in a third of the runs: of any size that lets the trace leave within seconds.
void draw_budgets(std::uint64_t seed, const Trace& trace, SimOptions& options);

/// The trace that goes with them.
Trace swarm_trace(std::uint64_t seed, std::uint32_t rows);

/// Trace and faults of a seed, run: rows are sent at their recorded instants, also where the trace
/// says what they wait for.
SimResult run_swarm(std::uint64_t seed, std::uint32_t rows);

/// Dual fire: half as many rows, each to two servers, one of which is well in half of the runs
/// (swarm.cpp).
SimOptions dual_options(std::uint64_t seed);
SimResult run_dual_swarm(std::uint64_t seed, std::uint32_t rows);

/// The same traces and faults, rows waiting for others or not, on two to eight engines.
SimOptions engines_options(std::uint64_t seed);
SimResult run_engines_swarm(std::uint64_t seed, std::uint32_t rows);

/// Makes rows wait for others: chains with branches and joins, most of them for answers, in trees
/// of any size.
void close_sessions(Trace& trace, std::uint64_t seed);
/// The same trace and faults, in a run whose rows wait for each other.
SimOptions closed_options(std::uint64_t seed);
SimResult run_closed_swarm(std::uint64_t seed, std::uint32_t rows);

/// The same rows in trees of up to 12, played by 1 to 8 users (swarm_users.cpp).
SimResult run_users_swarm(std::uint64_t seed, std::uint32_t rows);

/// Sessions of messages, of `rows` turns in all; `overhead` tokens of each prompt are the server's.
Trace talks_trace(std::uint64_t seed, std::uint32_t rows, std::uint32_t overhead);
SimOptions talks_options(std::uint64_t seed);
/// Conversations that hold the answers of the run (swarm.cpp); users play every other seed.
SimResult run_talks_swarm(std::uint64_t seed, std::uint32_t rows);
/// The rules by which users play in that seed.
UserRules drawn_rules(std::uint64_t seed);
/// What they play. A trace that is gone through again is short: in the time that there is it is,
/// several times.
Trace users_trace(std::uint64_t seed, std::uint32_t rows);
SimOptions users_options(std::uint64_t seed, const Trace& trace);

/// How the segments of a run that dies fare: two or three of them, the last of which does not.
std::vector<Fate> swarm_fates(std::uint64_t seed);

/// The same trace and faults, in a run that dies and goes on.
KilledRun run_killed_swarm(std::uint64_t seed, std::uint32_t rows);
/// The same in a run whose rows wait for each other.
KilledRun run_killed_closed_swarm(std::uint64_t seed, std::uint32_t rows);
/// Users with all their rules, in a run that dies (swarm_users.cpp).
KilledUsers run_killed_users_swarm(std::uint64_t seed, std::uint32_t rows);

}  // namespace driftless::sim
