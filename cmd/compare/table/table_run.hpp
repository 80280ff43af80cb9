/// TableRun: one run of a table, by its summary.json alone: what was run, what came of it, and
/// whether its figures count. Of a cell of a sweep, sweep.json says what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "cmd/cells/cell_summary.hpp"
#include "engine/stats/distribution.hpp"

namespace driftless {

/// Runs of one table, cells of sweeps counted.
inline constexpr std::size_t table_runs_max = 1000;

struct TableRun {
    std::string folder;  ///< path from here
    std::string name;    ///< the last part of it
    std::string sweep;   ///< folder of its sweep, without a slash at the end; empty: none
    std::string cell;    ///< "speed=2 users=8"; empty: of no sweep
    std::vector<CellValue> values;  ///< what the sweep varied
    std::vector<CellValue> load;    ///< what may differ: server, pace, users (run_keys.hpp)
    std::vector<CellValue> corpus;  ///< what may not
    std::vector<std::pair<std::string, std::string>> labels;
    std::optional<CellSummary> summary;  ///< nothing: it has none
    /// E2E by output token, ms, of requests that are ok; nothing until read_e2e_per_token.
    std::optional<Distribution> e2e_per_token;
    std::string prompts_digest;  ///< of run.json; empty: not known
    std::string run_id;          ///< of run.json; empty: not known
    std::string outcome;         ///< "completed", "spoiled", "stopped", "killed", ..
    /// Why its figures are in no mean and on no frontier: one line; empty: they are.
    std::string left_out;

    bool counts() const { return summary && left_out.empty(); }
    /// A label, or nothing.
    std::optional<std::string> label(std::string_view key) const;
};

/// Reads folders of runs and of sweeps, in the order given; of a sweep all of its cells. Returns
/// what is wrong, with the remedy, or the empty text. A run without a summary.json is not an error:
/// its `left_out` says so.
std::string read_table_runs(const std::vector<std::string>& folders, std::vector<TableRun>& out);

/// What a summary says about itself: fills all that does not come from a folder or a sweep.
void describe_run(TableRun& run);

}  // namespace driftless
