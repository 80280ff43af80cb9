/// `driftless compare --table RUN..`: many runs beside each other, and the frontiers that they
/// make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/compare/table/pareto_chart.hpp"
#include "cmd/compare/table/table_figure.hpp"

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

}  // namespace driftless
