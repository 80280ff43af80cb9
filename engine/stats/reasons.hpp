/// Reasons: the sentences of a verdict. Each is a clause with its figures. Used by those alone who
/// judge: verdict.cpp, judge_merged.cpp, merged_run.cpp.
#pragma once

#include <string>
#include <vector>

#include "engine/stats/blame.hpp"
#include "engine/stats/client_totals.hpp"
#include "engine/stats/summary.hpp"
#include "engine/stats/taint.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

using Reasons = std::vector<std::string>;

std::string milliseconds_text(std::int64_t ns);
/// "the engine", or "engine 1" where there are several.
std::string engine_text(const ClientTotals& client, std::int64_t engine);

/// What was lost in our own hands; nothing where nothing was.
void add_loss_reasons(const SummaryFigures& figures, const ClientTotals& client, Reasons& reasons);
/// How many rows are tainted, by kind, each with the limit that they broke.
void add_taint_reasons(const SummaryFigures& figures, const TaintLimits& limits, Reasons& reasons);
/// What was held back for a lack of this host's, and what the network lost.
void add_limit_reasons(const SummaryFigures& figures, Reasons& reasons);
/// What the death of an earlier segment cost.
void add_interrupted_reason(const SummaryFigures& figures, Reasons& reasons);
/// What others did in the seconds that coincide with the tainted rows.
void add_host_reason(const Blame& blame, const ClientTotals& client, Reasons& reasons);
/// The worst second of the whole run, where it is worth a word.
void add_load_reason(const ClientTotals& client, Reasons& reasons);
/// The limits that every row that is not tainted has kept, and the worst that was seen of them.
void add_limits_kept(const SummaryFigures& figures, const TaintLimits& limits, Reasons& reasons);
/// How late rows left because the user wanted them held back.
void add_held_reason(const SummaryFigures& figures, Reasons& reasons);

}  // namespace driftless
