/// ParetoChart: cells of a table in two figures, in groups, with the frontier of each group and of
/// all together, and the area that each dominates. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/compare/table/run_cell.hpp"
#include "engine/comparison/hypervolume.hpp"
#include "engine/comparison/pareto.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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
