/// What is said, before a run, of when its rows will be sent: at a rate, by users, behind answers,
/// within budgets of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/plan/trees.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// What is said of rows that arrive at a rate.

/// Nothing where none arrives at a rate.
std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Trace& trace,
                                          const Plan& plan);
/// The same of the whole plan, of which the workload may have a share.
std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Workload& workload);

/// Gives the rows of a plan their instants: at the rate of the flags, or behind answers, as users
/// and gaps have it. `notes`: what became of gaps and barriers. Prints what is refused; exit code.
int time_rows(const WorkloadFlags& flags, Workload& workload, std::vector<std::string>& notes);

/// What was asked, and what the plan makes of it: lines for the screen and run.json.
std::vector<std::string> arrival_notes(const WorkloadFlags& flags, const Trace& trace,
                                       const Plan& plan);

/// Who plays what, as lines for a person.
std::vector<std::string> user_notes(const UserRules& rules, std::uint32_t trees, const Plan& plan);

// Waiting: `--sessions closed`, before the run: what can be said of rows whose due instants are not
// known yet.

/// How many rows wait, and for what: lines for the screen and run.json; none where none waits.
std::vector<std::string> waiting_notes(const std::optional<Waiting>& waiting, const Plan& plan,
                                       const UserRules& users);

/// From time 0 to the last due instant that is known before the run. `whole`: the plan, or, where
/// a run is resumed, that of the whole run.
std::int64_t last_due_ns(const std::optional<Waiting>& waiting, const Plan& whole);

/// "at least 12.000 s (recorded gaps alone)..": what a dry run knows of the length of the run.
std::string length_of_closed(const Waiting& waiting);

/// The instants that estimates of needs go by: as planned, or, of a closed workload, as they would
/// be if each output token took `token_ns_estimated`. Of this process alone, where there are
/// several.
const Plan& plan_to_estimate(const Workload& workload);

/// What the engine plays of a plan of the workload's rows. `earlier`: of a closed run that is
/// resumed, what went before this segment. Workload and plan outlive it.
/// `users`: those of the workload, or an engine's share of them. `live`: whose words rows go on
/// behind; else null.
Schedule schedule_of(Speed speed, const Workload& workload, const Plan& plan,
                     const EarlierRows& earlier, const UserRules& users, const LiveTurns* live);

}  // namespace driftless
