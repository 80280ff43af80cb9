/// The cells of a table of runs, the figures that they are shown and sorted by, and the charts
/// that two figures make. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/pareto.hpp"
#include "cmd/runs/table_run.hpp"
#include "proto/core/result.hpp"
#include "proto/figures/thresholds.hpp"

namespace driftless {

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
/// "ms", "share", "1/s", "tokens/s", "J"; of a count "".
const char* name_of(TableUnit unit);

struct TableFigure {
    enum class Source : std::uint8_t {
        threshold,
        interactivity,
        e2e_interactivity,
        input_rate,
        hits,
        joules,
    };

    std::string name;   ///< as typed: "ttft:p99", "output_throughput/gpu"
    std::string title;  ///< for people: "TTFT p99", "output per GPU"
    TableUnit unit = TableUnit::count;
    Better better = Better::low;
    Source source = Source::threshold;
    Threshold which;  ///< what to read; of interactivity the TPOT, of e2e_interactivity the E2E
    bool per_gpu = false;

    /// ms, a share from 0 to 1, a rate, a number; nothing where it was not measured, or no label
    /// says how many GPUs there were.
    std::optional<double> of(const TableRun& run) const;
    /// It is made of records: call read_e2e_per_token (table.hpp) first.
    bool needs_records() const { return source == Source::e2e_interactivity; }
    /// Fewer values than the percentile needs (proto/figures/distribution.hpp).
    bool below_floor(const TableRun& run) const;
    /// Of a percentile: the least number of values; 0: any will do.
    std::uint64_t floor() const;
};

/// Errors: invalid; the `doing` is a clause with the remedy.
Result<TableFigure> parse_table_figure(std::string_view text);

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
    bool merged = false;  ///< runs that no sweep says to be repeats stand in one line
};

/// Runs of equal values become one cell, in the order of the first; `each`: every run stays alone.
/// Cells of a sweep are what the sweep says; other runs are repeats where server, load, limits and
/// labels are equal.
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

}  // namespace driftless
