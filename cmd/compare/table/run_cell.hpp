/// RunCell: the runs of equal values, which are repeats of each other: one line of a table, one
/// point of a chart. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cmd/compare/table/table_figure.hpp"
#include "cmd/compare/table/table_run.hpp"

namespace driftless {

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

}  // namespace driftless
