#include "cmd/compare/table/pareto_chart.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

Error remedy(const char* doing) {
    return {ErrorCode::invalid, 0, doing};
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text) {
        if (c == ':' || c == ',' || c == ' ') {
            if (!word.empty()) {
                words.push_back(std::exchange(word, ""));
            }
        } else {
            word += c;
        }
    }
    if (!word.empty()) {
        words.push_back(word);
    }
    return words;
}

/// The next figure of the words from `at` on: a name, behind "low" or "high" where that is said,
/// with a statistic where the name alone is none.
Result<TableFigure> take_figure(const std::vector<std::string>& words, std::size_t& at) {
    std::optional<Better> better;
    if (at < words.size() && (words[at] == "low" || words[at] == "high")) {
        better = words[at++] == "low" ? Better::low : Better::high;
    }
    if (at >= words.size()) {
        return remedy(
            "names only one figure; give one for each axis, as in \"ttft:p99:output_throughput\"");
    }
    Result<TableFigure> figure = parse_table_figure(words[at]);
    if (!figure && at + 1 < words.size()) {
        figure = parse_table_figure(words[at] + ":" + words[at + 1]);
        ++at;
    }
    ++at;
    if (figure && better) {
        figure.value().better = *better;
    }
    return figure;
}

ChartAxes known_axes(const std::string& x, const std::string& y) {
    const Result<TableFigure> first = parse_table_figure(x);
    const Result<TableFigure> second = parse_table_figure(y);
    CHECK(first && second);
    return {first.value(), second.value()};
}

/// The points of a group, and where each stands among all points.
struct Part {
    std::vector<ParetoPoint> points;
    std::vector<std::size_t> places;
};

Part part_of(const std::vector<ChartPoint>& points, std::optional<std::size_t> group) {
    Part part;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!group || points[i].group == *group) {
            part.points.push_back({points[i].x.mean, points[i].y.mean});
            part.places.push_back(i);
        }
    }
    return part;
}

std::vector<std::size_t> frontier_of(const Part& part, ParetoAxes axes) {
    std::vector<std::size_t> frontier = pareto_frontier(part.points, axes);
    for (std::size_t& index : frontier) {
        index = part.places[index];
    }
    return frontier;
}

/// Times and rates of 0 are those of a run that measured nothing; shares and counts may be 0 where
/// less is better.
bool is_place(const CellFigure& value, const TableFigure& figure) {
    const bool may_be_zero = figure.better == Better::low &&
                             (figure.unit == TableUnit::share || figure.unit == TableUnit::count);
    return value.mean > 0 || (may_be_zero && value.mean == 0);
}

std::size_t group_index(ParetoChart& chart, const std::string& name) {
    const auto found = std::find_if(chart.groups.begin(), chart.groups.end(),
                                    [&name](const ChartGroup& one) { return one.name == name; });
    const auto at = static_cast<std::size_t>(found - chart.groups.begin());
    if (found == chart.groups.end()) {
        chart.groups.push_back({name, {}, 0});
    }
    return at;
}

void add_points(const ManyRuns& table, std::string_view group, ParetoChart& chart) {
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
        const RunCell& cell = table.cells[i];
        if (!cell.counts) {
            continue;
        }
        const std::optional<CellFigure> x = figure_of(table, cell, chart.axes.x);
        const std::optional<CellFigure> y = figure_of(table, cell, chart.axes.y);
        if (!x || !y || !is_place(*x, chart.axes.x) || !is_place(*y, chart.axes.y)) {
            chart.missing.push_back(i);
            continue;
        }
        ChartPoint point;
        point.cell = i;
        point.group = group_index(chart, group.empty() ? "" : value_of(table, cell, group));
        point.x = *x;
        point.y = *y;
        chart.points.push_back(point);
    }
}

}  // namespace

Result<ChartAxes> parse_chart_axes(std::string_view text) {
    const std::vector<std::string> words = words_of(text);
    std::size_t at = 0;
    Result<TableFigure> x = take_figure(words, at);
    if (!x) {
        return x.error();
    }
    Result<TableFigure> y = take_figure(words, at);
    if (!y) {
        return y.error();
    }
    if (at < words.size()) {
        return remedy(
            "names more than two figures; give one for each axis, as in "
            "\"ttft:p99:output_throughput\"");
    }
    return ChartAxes{std::move(x).value(), std::move(y).value()};
}

std::vector<ChartAxes> standard_charts(bool per_gpu) {
    constexpr std::array<std::array<const char*, 2>, 4> pairs{
        {{"ttft:", "input_throughput"},
         {"interactivity:", "total_token_throughput"},
         {"e2e:", "total_token_throughput"},
         {"interactivity:", "output_throughput"}}};
    const std::string suffix = per_gpu ? "/gpu" : "";
    std::vector<ChartAxes> charts;
    for (const auto& [x, y] : pairs) {
        for (const char* percentile : {"p50", "p90", "p99", "p99.9"}) {
            charts.push_back(known_axes(std::string(x) + percentile, y + suffix));
        }
    }
    return charts;
}

bool knows_gpus(const ManyRuns& table) {
    return !table.runs.empty() &&
           std::all_of(table.runs.begin(), table.runs.end(), [](const TableRun& run) {
               return !run.counts() || gpus_of(run).has_value();
           });
}

ParetoChart pareto_chart(const ManyRuns& table, const ChartAxes& axes, std::string_view group) {
    ParetoChart chart;
    chart.axes = axes;
    add_points(table, group, chart);
    const ParetoAxes better = axes.better();
    const Part all = part_of(chart.points, {});
    chart.reference = hypervolume_reference(all.points, better);
    chart.frontier = frontier_of(all, better);
    chart.hypervolume = hypervolume(all.points, better, chart.reference);
    const std::vector<Dominance> dominance = pareto_dominance(all.points, better);
    for (std::size_t i = 0; i < chart.points.size(); ++i) {
        chart.points[i].dominated = dominance[i];
        chart.points[i].on_all = dominance[i].count == 0;
    }
    for (std::size_t i = 0; i < chart.groups.size(); ++i) {
        ChartGroup& one = chart.groups[i];
        const Part part = part_of(chart.points, i);
        one.frontier = frontier_of(part, better);
        one.hypervolume = hypervolume(part.points, better, chart.reference);
        for (const std::size_t index : one.frontier) {
            chart.points[index].on_frontier = true;
        }
    }
    return chart;
}

}  // namespace driftless
