/// Waiting: `--sessions closed`, before the run: whether anything in the trace waits, and what can
/// be said of rows whose due instants nobody knows yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// Refuses a trace in which nothing waits, unless users play it, or which lacks what the rules
/// need, with the remedy, on standard error. Returns `exit_done` or the code of the refusal.
int check_waits(const Trace& trace, const GapRules& rules, bool by_users);

/// What became of the gaps: a line for the screen and run.json.
std::string gap_note(const GapRules& rules, const GapFigures& figures);

/// The plan of a closed run: its digest is of what rows wait for, not of instants.
Plan plan_of_waits(const Trace& trace, Plan plan, Speed speed, const UserRules& users);

Waiting waiting_of(const Trace& trace, const Plan& plan, Speed speed, const UserRules& users,
                   const GapFigures& gaps);

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
