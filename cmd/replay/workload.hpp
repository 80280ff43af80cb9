/// The workload of a replay: the trace, read and validated, and the plan made from it.
#pragma once

#include <string>
#include <vector>

#include "cmd/replay/options.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct Workload {
    Trace trace;
    LoadFigures load;
    Plan plan;
    std::vector<std::string> notes;  ///< what was chosen and found, as printed
};

/// Reads and plans; prints notes on standard output and refusals on standard error. Returns
/// `exit_done`, or the exit code of the refusal.
int load_workload(const ReplayOptions& options, Workload& workload);

/// Rows whose values cannot stand in the headers that `--header` makes of them are refused, all of
/// them listed.
int check_row_headers(const ReplayOptions& options, const Workload& workload);

/// Tokens of the longest row, prompt and output together.
std::int64_t longest_row(const Trace& trace, const Plan& plan);

/// Rows that do not fit the model's context (`max_model_len` tokens, prompt and output together)
/// are refused before anything is sent. Unknown (-1): nothing is refused. Prints what the longest
/// row needs.
int check_context(const Workload& workload, std::int64_t max_model_len);

}  // namespace driftless
