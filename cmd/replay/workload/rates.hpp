/// What is said of rows that arrive at a rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/result.hpp"
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

/// Why they cannot arrive, with the remedy.
std::string arrival_refusal(const RateFlags& flags, const Error& error);

/// What was asked, and what the plan makes of it: lines for the screen and run.json.
std::vector<std::string> arrival_notes(const WorkloadFlags& flags, const Trace& trace,
                                       const Plan& plan);

}  // namespace driftless
