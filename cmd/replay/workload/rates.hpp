/// What is said of rows that arrive at a rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// How rows arrive, for records of the run.
struct ArrivalFacts {
    std::string rate;                    ///< "10", "inf", "ramp 1:20:60s", "shape FILE"
    std::optional<double> asked_rate;    ///< per second, where it is one finite number
    std::string law;                     ///< "poisson" or the like, or "all at once"
    std::string of;                      ///< "rows" or "trees"
    std::optional<double> planned_rate;  ///< engine/plan/arrivals.hpp
};
/// Nothing where none arrives at a rate.
std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Trace& trace,
                                          const Plan& plan);
/// The same of the whole plan, of which the workload may have a share.
std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Workload& workload);

/// Rows, or session trees, come at the rate of the flags; a plan without one stays as it is. Prints
/// why they cannot.
OrExit<Plan> arrive_at_rate(const WorkloadFlags& flags, const Trace& trace, Plan plan);

/// Makes single rows in file order: drops what they waited for and their recorded times, which came
/// from another load.
void lay_out_loop(Trace& trace, Plan& plan);

/// What was asked, and what the plan makes of it: lines for the screen and run.json.
std::vector<std::string> arrival_notes(const WorkloadFlags& flags, const Trace& trace,
                                       const Plan& plan);

}  // namespace driftless
