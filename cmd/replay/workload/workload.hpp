/// The workload of a replay: the trace, read and validated, and the plan made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "engine/plan/gaps.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/row_models.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/schedule/schedule.hpp"
#include "engine/schedule/waits.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Rows wait for others: nobody knows before the run when they are due.
struct Waiting {
    WaitFigures figures;
    GapFigures gaps;
    Plan answered;            ///< `plan_to_estimate`
    std::uint32_t trees = 0;  ///< RowTrees of the plan; 0: no users play them
};

/// Made whole by `load_workload`, before any server is asked.
struct Workload {
    Trace trace;
    LoadFigures load;
    Plan plan;
    std::optional<Waiting> waiting;  ///< `--sessions closed`; else nothing waits
    UserRules users;                 ///< `users.users` 0: there are none
    RowModels models;                ///< `--model` with a column; else of no row
    std::vector<std::string> notes;  ///< what was chosen and found, as printed
    /// [row index] first blocks that all passes share (`--recycle-share system`); empty: none.
    std::vector<std::uint32_t> shared_blocks;
};

/// Reads and plans; prints notes on standard output and refusals on standard error. `sending` is
/// what goes by sessions; `row_model` the model of each row, where rows have their own.
OrExit<Workload> load_workload(const WorkloadFlags& flags, const SendingFlags& sending,
                               const std::optional<FieldTemplate>& row_model);

/// Rows whose values cannot stand in the headers that `--header` makes of them are refused, all of
/// them listed.
int check_row_headers(const std::vector<FieldTemplate>& row_headers, const Workload& workload);

/// Tokens of the longest row, prompt and output together.
std::int64_t longest_row(const Trace& trace, const Plan& plan);

/// What a model takes, in tokens; -1: not known.
struct ModelRoom {
    std::int64_t context = -1;  ///< prompt and output together
    std::int64_t input = -1;    ///< the prompt alone
};

/// Rows that a model has no room for are refused before anything is sent. Unknown: nothing is
/// refused. Prints what the longest row needs.
int check_context(const Workload& workload, ModelRoom room);

/// What is lost where the split of `overhead` tokens is taken to be all in front and is not: one
/// line, with the flag that sets it.
std::string split_warning(const Workload& workload, const Overhead& overhead, bool templated);

/// What a server that refuses shorter answers than `least` tokens means for the rows; empty:
/// nothing.
std::string short_answers_warning(OutputRule output, const Workload& workload, std::uint32_t least);

}  // namespace driftless
