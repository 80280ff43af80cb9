/// What became of a run: its verdict, its rules and its thresholds, and the exit code that says so.
#pragma once

#include "cmd/replay/run_json/run_file.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

/// Fills in verdict, rules and thresholds, by the figures of the run and of its client.
void judge(const RunFile& file, const RunEnd& end, const SummaryFigures& figures,
           const ClientTotals& client, SummaryInfo& info);

/// By what `judge` found. `failed`: the host failed us.
int exit_code_of(const RunFile& file, bool interrupted, const SummaryFigures& figures,
                 const SummaryInfo& info, bool failed);

}  // namespace driftless
