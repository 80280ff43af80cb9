/// `driftless compare --table RUN..`: many runs beside each other: one run by its summary.json
/// alone, the cells and figures that the table is sorted by, the frontiers that two figures make,
/// the charts, and the formats in which they leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/reading/view.hpp"
#include "cmd/runs/cell.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The value of that name; null: none.
const CellValue* find_value(const std::vector<CellValue>& values, std::string_view name);
/// Its text; empty: none.
std::string_view value_in(const std::vector<CellValue>& values, std::string_view name);

// TableRun: one run of a table, by its summary.json alone: what was run, what came of it, and
// whether its figures count. Of a cell of a sweep, sweep.json says what became of it.

/// Runs of one table, cells of sweeps counted.
inline constexpr std::size_t table_runs_max = 1000;

struct TableRun {
    std::string folder;  ///< path from here
    std::string name;    ///< the last part of it
    std::string sweep;   ///< folder of its sweep, without a slash at the end; empty: none
    std::string cell;    ///< "speed=2 users=8"; empty: of no sweep
    std::vector<CellValue> values;   ///< what the sweep varied
    std::vector<CellValue> load;     ///< server, pace, users, settings: equal in a line
    std::vector<CellValue> watched;  ///< how the client watched and used its host
    std::vector<CellValue> labels;
    std::optional<CellSummary> summary;  ///< nothing: it has none
    /// E2E by output token, ms, of requests that are ok; nothing until read_e2e_per_token.
    std::optional<Distribution> e2e_per_token;
    RunFacts facts;          ///< of summary.json, and of run.json where that is there
    bool says_work = false;  ///< these facts say what it played
    std::string other_work;  ///< with --anyway: why its work is not that of the first
    std::string run_id;      ///< of run.json; empty: not known
    std::string outcome;     ///< "completed", "spoiled", "stopped", "killed", ..
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

/// Where the meaning is the same, the texts of load and settings become those of the first run that
/// has it: pace where the digests of the schedules are equal, flags by what they mean. Adds the
/// settings to `load` and `watched`.
void settle_load(std::vector<TableRun>& runs);

// Whether runs played the same work, as far as a table needs it. Pure. It is the work of compare
// (row_differences in compare.hpp), but pace, servers and salts may differ, and the number of rows
// with --replicate. What a sweep varied on purpose may differ among its cells, but for trace and
// window.

/// For each run that is not of the corpus of the first one that has a summary: one line with the
/// reason, beginning with its folder.
std::vector<std::string> corpus_differences(const std::vector<TableRun>& runs);

// Pareto frontiers of two figures: which of many points no other point beats. Pure; points are
// finite.

/// Which end of each axis people want.
struct ParetoAxes {
    Better x = Better::low;
    Better y = Better::high;
};

struct ParetoPoint {
    double x = 0;
    double y = 0;
};

/// Indices of the points that none dominates, from the best x to the best y. Of equal points all
/// are there, in the order given.
std::vector<std::size_t> pareto_frontier(std::span<const ParetoPoint> points, ParetoAxes axes);

struct Dominance {
    std::size_t count = 0;  ///< of points that dominate this one; 0: it is on the frontier
    std::size_t by = 0;     ///< one of them that is on the frontier, the one with the best x
};
/// [points]. Compares every two: for tables that people read, of some thousand points at most.
std::vector<Dominance> pareto_dominance(std::span<const ParetoPoint> points, ParetoAxes axes);

// Hypervolume of points in two figures: the area that they dominate, up to a reference point. One
// number for a whole frontier: of two groups with the same reference, the larger one reaches
// further. Pure. (Zitzler and Thiele, 1998.)

/// How far the reference lies beyond the worst point of an axis where less is better: with 1 the
/// worst point would span no area at all.
inline constexpr double reference_margin = 1.1;

/// The reference of a chart, for all of its groups: 0 where more is better, else the worst of all
/// points times `reference_margin`. Points are positive.
ParetoPoint hypervolume_reference(std::span<const ParetoPoint> points, ParetoAxes axes);

/// In the unit of x times the unit of y. Points that are not better than the reference on both axes
/// add nothing.
double hypervolume(std::span<const ParetoPoint> points, ParetoAxes axes,
                   const ParetoPoint& reference);

// TableFigure: a figure of a run that a table is sorted by or an axis shows, by the names of
// thresholds ("ttft:p99") and some more. Pure.
//
// - interactivity:p90: tokens per second of one stream, the slow tail: 1000 / TPOT p90 in ms.
// - e2e_interactivity:p90: the same over the whole request: 1000 / (E2E p90 per output token, ms).
// - input_throughput: prompt tokens of complete answers per second, cached or not.
// - hits: tokens that servers found in their caches, of those that the trace allows.
// - joules_per_token: energy per input and output token, if a page of metrics has watts.
//
// A rate with "/gpu" behind it is divided by the label `gpus` of the run.

enum class TableUnit : std::uint8_t { ms, share, per_second, tokens_per_second, joules, count };
template <>
inline constexpr auto closed_list<TableUnit> = name_list("ms", "share", "1/s", "tokens/s", "J", "");

struct TableFigure {
    std::string name;   ///< as typed: "ttft:p99", "output_throughput/gpu"
    std::string title;  ///< for people: "TTFT p99", "output per GPU"
    TableUnit unit = TableUnit::count;
    Better better = Better::low;
    Threshold which;  ///< what to read
    bool per_gpu = false;

    /// ms, a share from 0 to 1, a rate, a number; nothing where it was not measured, or no label
    /// says how many GPUs there were.
    std::optional<double> of(const TableRun& run) const;
    /// It is made of records: call read_e2e_per_token (table.hpp) first.
    bool needs_records() const {
        return which.figure->only_in_tables && which.figure->has_statistics();
    }
    /// Fewer values than the percentile needs (proto/figures/distribution.hpp).
    bool below_floor(const TableRun& run) const;
    /// Of a percentile: the least number of values; 0: any will do.
    std::uint64_t floor() const;
};

/// Errors: invalid; the `doing` is a clause with the remedy.
Result<TableFigure> parse_table_figure(std::string_view text);

/// One that there is.
TableFigure known_figure(std::string_view text);

/// What files have of each cell: every figure that there is, of times mean, p50, p90, p99, p99.9.
const std::vector<TableFigure>& table_figures();

/// From the due instant by more than a tenth: rows were held back, or left late.
inline bool is_longer_from_due(double due, double ttft) {
    return due > 1.1 * ttft;
}
/// TTFT p99 of some run is.
bool shows_due(const std::vector<TableRun>& runs);

/// The label `gpus`, where it is a number above 0.
std::optional<double> gpus_of(const TableRun& run);

/// RunCell: the runs of equal values, which are repeats of each other: one line of a table, one
/// point of a chart. Pure.
struct RunCell {
    std::string name;                 ///< of its first run
    std::vector<std::string> values;  ///< [columns]; empty: it has none
    std::vector<std::size_t> runs;    ///< all of them, by index
    /// Runs whose figures are shown: those that count; if none counts, all that have figures.
    std::vector<std::size_t> shown;
    bool counts = false;  ///< it has a place in charts
};

struct ManyRuns {
    std::vector<TableRun> runs;
    std::vector<std::string> columns;  ///< what differs among the runs: axes, labels, flags
    std::vector<RunCell> cells;
    bool merged = false;  ///< runs that no sweep says to be repeats are in one line
    /// Of `watched`: what differs among the runs of a line.
    std::vector<std::string> mixed;
};

/// Runs of equal values become one cell, in the order of the first; `each`: every run stays alone.
/// Cells of a sweep are what the sweep says; other runs are repeats where server, load, settings
/// and labels are equal.
ManyRuns table_of(std::vector<TableRun> runs, bool each);

/// A figure of a cell over its shown runs.
struct CellFigure {
    double mean = 0;
    double low = 0;
    double high = 0;
    std::size_t runs = 0;      ///< that have it
    bool below_floor = false;  ///< in one of them: too few values for the percentile
};
std::optional<CellFigure> figure_of(const ManyRuns& table, const RunCell& cell,
                                    const TableFigure& figure);

/// The value of a cell in a column, which may be a label of its runs; empty: none.
std::string value_of(const ManyRuns& table, const RunCell& cell, std::string_view column);

/// Cells by a figure, the best first; those without it come last. Stable.
void sort_cells(ManyRuns& table, const TableFigure& by);

// ParetoChart: cells of a table in two figures, in groups, with the frontier of each group and of
// all together, and the area that each dominates. Pure.

struct ChartAxes {
    TableFigure x;
    TableFigure y;
    ParetoAxes better() const { return {x.better, y.better}; }
};

/// "ttft:p99:output_throughput", or with a comma between the two; "low" or "high" before a name
/// says which end is better. Errors: invalid; the `doing` is a clause with the remedy.
Result<ChartAxes> parse_chart_axes(std::string_view text);

/// The four pairs of InferenceX (plot_pareto.py) at p50, p90, p99 and p99.9: TTFT against input
/// tokens/s, interactivity against all tokens/s, E2E against all tokens/s, interactivity against
/// output tokens/s. `per_gpu`: rates by the label `gpus`.
std::vector<ChartAxes> standard_charts(bool per_gpu);

/// Every run that counts has a label `gpus`.
bool knows_gpus(const ManyRuns& table);

struct ChartPoint {
    std::size_t cell = 0;
    std::size_t group = 0;
    CellFigure x;
    CellFigure y;
    bool on_frontier = false;  ///< of its group
    bool on_all = false;       ///< of all groups together
    Dominance dominated;       ///< by points of all groups; `by` is a point
    bool below_floor() const { return x.below_floor || y.below_floor; }
};

struct ChartGroup {
    std::string name;                   ///< value of the label; empty: it has none
    std::vector<std::size_t> frontier;  ///< points, from the best x on
    double hypervolume = 0;
};

struct ParetoChart {
    ChartAxes axes;
    std::vector<ChartPoint> points;
    std::vector<ChartGroup> groups;
    std::vector<std::size_t> frontier;  ///< points, of all groups together
    double hypervolume = 0;             ///< of all groups together
    ParetoPoint reference;              ///< of every hypervolume here
    std::vector<std::size_t> missing;   ///< cells that lack one of the figures, or have 0
};

/// Cells that count. `group`: an axis, a label or a flag; empty: all cells are one group.
ParetoChart pareto_chart(const ManyRuns& table, const ChartAxes& axes, std::string_view group);

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
    bool force = false;  ///< files that are there are replaced
};

/// Prints the table. Returns the exit code; what failed is printed.
int compare_table(const TableCommand& command);

/// Reads the values that e2e_interactivity is made of, the one figure that no summary has, for
/// every run that counts. Returns why a run cannot be read, or the empty text.
std::string read_e2e_per_token(std::vector<TableRun>& runs);

/// What people see of many runs: a line per cell, and what is left out and why.
std::string table_screen(const ManyRuns& table);
/// One line per chart and group: the cells of the frontier, and the hypervolume.
std::string charts_screen(const ManyRuns& table, const std::vector<ParetoChart>& charts);

inline constexpr int table_schema = 1;

struct TableDocument {
    const ManyRuns& table;
    const std::vector<ParetoChart>& charts;
    const std::string& group;                     ///< what groups are made by; empty: one group
    const std::vector<std::string>& differences;  ///< with --anyway: what is not the same work
};

/// What `--json` prints, and what the page is made of (table.schema.json): one object, without a
/// line feed at the end; what is unprintable is escaped.
std::string table_json(const TableDocument& document);

/// One HTML file with the frontiers and the table, in the shell and with the charts of a run's own
/// page. `page_path`: where it will be. Links to the runs, to their report.html where that is
/// there, are relative to it.
std::string table_page(const TableDocument& document, const std::string& page_path);

/// The page of a run, or its folder where it has none, as a link from a page in `page_folder`;
/// empty where the folder is not there any more.
std::string link_to_run(const std::string& folder, const std::string& page_folder);

/// The table as CSV, a line per cell: what differs among the runs; the columns of InferenceX's
/// sweeps (collect_sweep_results.py), where the labels (or axes) `tp`, `users` and `offload` fill
/// what a client cannot know; then ours. What is unknown is empty.
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

/// Benchmark reports 0.2.1 of llm-d: one for each run that counts, as the view `llm-d` makes it,
/// with the sweep and the labels in `run`. One report where one run counts, else a JSON array of
/// them; a line feed at the end. Where a run cannot be read, the reason is in `why`.
std::string llmd_reports(const ManyRuns& table, std::string& why);

/// One report, of the JSON of the view. Pure.
std::string llmd_report(const TableRun& run, const std::string& view);

}  // namespace driftless
