/// `driftless compare --table RUN..`: many runs beside each other, the frontiers that they make,
/// and the formats in which they leave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/reading/view.hpp"
#include "cmd/runs/run_cell.hpp"
#include "cmd/runs/table_run.hpp"

namespace driftless {

struct TableCommand {
    std::vector<std::string> runs;    ///< folders as typed, of runs and of sweeps; at least one
    bool anyway = false;              ///< runs of different work, too
    bool each = false;                ///< repeats are lines of their own
    std::optional<TableFigure> sort;  ///< nothing: in the order given
    std::vector<ChartAxes> charts;    ///< empty: the standard ones
    std::string group;                ///< a label, an axis or a flag; empty: one group
    // New files; empty: none; "-": standard output, in the place of the table. One of them at most.
    std::string json;
    std::string csv;
    std::string html;
    std::string inferencex;
    std::string llmd;
};

/// Prints the table. Returns the exit code; what failed is printed.
int compare_table(const TableCommand& command);

// What is made of the records of a run: its requests as another tool sees them, for --inferencex
// and --llm-d, and the one figure that no summary has. Nothing else here reads records.

/// Returns why the run cannot be read, or the empty text. Memory: as read_viewed_run
/// (cmd/report/readings.hpp), of one run at a time.
std::string view_run(const TableRun& run, ViewedRun& out);

/// Reads the values that e2e_interactivity is made of, for every run that counts. Returns why a run
/// cannot be read, or the empty text.
std::string read_e2e_per_token(std::vector<TableRun>& runs);

// What people see of many runs: a line per cell, what is left out and why, and the frontiers.
// Pure.

std::string table_screen(const ManyRuns& table);

/// One line per chart and group: the cells of the frontier, and the hypervolume.
std::string charts_screen(const ManyRuns& table, const std::vector<ParetoChart>& charts);

/// Of the run behind a cell as it stands in lists: "01 speed=2", "old-1 +2".
std::string short_name(const ManyRuns& table, const RunCell& cell);

// The table and its charts as JSON (table.schema.json): what `--json` prints, and what the page is
// made of. Pure.

inline constexpr int table_schema = 1;

struct TableDocument {
    const ManyRuns& table;
    const std::vector<ParetoChart>& charts;
    const std::string& group;                     ///< what groups are made by; empty: one group
    const std::vector<std::string>& differences;  ///< with --anyway: what is not the same work
};

/// One object, without a line feed at the end; what is unprintable is escaped.
std::string table_json(const TableDocument& document);

// The page of many runs: one HTML file with their frontiers and the table, in the shell and with
// the charts of a run's own page. Its scripts lie in page/.

/// `page_path`: where the page will be. Links to the runs, to their report.html where that is
/// there, are relative to it.
std::string table_page(const TableDocument& document, const std::string& page_path);

/// A file or folder as a link from a page in `from`, escaped as in a URL. Both are absolute.
std::string relative_link(const std::string& from, const std::string& to);

// The table as CSV: a line per cell, with the columns of InferenceX's sweeps
// (collect_sweep_results.py) and ours behind them. Pure.

/// Columns: what differs among the runs; those of InferenceX, where the labels (or axes) `tp`,
/// `users` and `offload` fill what a client cannot know; then ours. What is unknown is empty.
/// Figures are means over the runs of a cell; `low_` and `high_` columns have the ends of the
/// repeats.
std::string table_csv(const ManyRuns& table);

// Aggregate rows of InferenceX (utils/agentic/aggregation/process_agentic_result.py, 01cae1be):
// for each run that counts one object with its provenance, request_accounting, request_metrics and
// server_metrics. Definitions of the figures: cmd/reading/README.md.
//
// Provenance comes from labels of the same names (hw, image, framework, precision, tp, ep ..);
// what no label says is null. Figures per GPU need the label `gpus`.

/// A JSON array, with a line feed at the end. Where a run cannot be read, the reason is in `why`.
std::string inferencex_rows(const ManyRuns& table, std::string& why);

/// One row, of the JSON that the view `inferencex` makes of the run. Pure.
std::string inferencex_row(const TableRun& run, const std::string& view);

// Benchmark reports 0.2.1 of llm-d: one for each run that counts, as the view `llm-d` makes it,
// with the sweep and the labels in `run`. Each is a report by itself.

/// One report where one run counts, else a JSON array of them; a line feed at the end. Where a run
/// cannot be read, the reason is in `why`.
std::string llmd_reports(const ManyRuns& table, std::string& why);

/// One report, of the JSON of the view. Pure.
std::string llmd_report(const TableRun& run, const std::string& view);

}  // namespace driftless
