#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cmd/base/program.hpp"
#include "cmd/report/page.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static std::vector<std::string> words_of(std::string_view text) {
    constexpr std::string_view between = ":, ";
    std::vector<std::string> words;
    for (text = trim(text, between); !text.empty(); text = trim(text, between)) {
        words.emplace_back(text.substr(0, text.find_first_of(between)));
        text.remove_prefix(words.back().size());
    }
    return words;
}

/// The next figure of the words from `at` on: a name, behind "low" or "high" where that is said,
/// with a statistic where the name alone is none.
static Result<TableFigure> take_figure(const std::vector<std::string>& words, std::size_t& at) {
    std::optional<Better> better;
    if (at < words.size() && (words[at] == "low" || words[at] == "high")) {
        better = words[at++] == "low" ? Better::low : Better::high;
    }
    if (at >= words.size()) {
        return invalid(
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

namespace {

/// The points of a group, and where each stands among all points.
struct Part {
    std::vector<ParetoPoint> points;
    std::vector<std::size_t> places;
};

}  // namespace

static Part part_of(const std::vector<ChartPoint>& points, std::optional<std::size_t> group) {
    Part part;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!group || points[i].group == *group) {
            part.points.push_back({points[i].x.mean, points[i].y.mean});
            part.places.push_back(i);
        }
    }
    return part;
}

static std::vector<std::size_t> frontier_of(const Part& part, ParetoAxes axes) {
    std::vector<std::size_t> frontier = pareto_frontier(part.points, axes);
    for (std::size_t& index : frontier) {
        index = part.places[index];
    }
    return frontier;
}

/// Times and rates of 0 are those of a run that measured nothing; shares and counts may be 0 where
/// less is better.
static bool is_place(const CellFigure& value, const TableFigure& figure) {
    const bool may_be_zero = figure.better == Better::low &&
                             (figure.unit == TableUnit::share || figure.unit == TableUnit::count);
    return value.mean > 0 || (may_be_zero && value.mean == 0);
}

static std::size_t group_index(ParetoChart& chart, const std::string& name) {
    const auto found = std::ranges::find(chart.groups, name, &ChartGroup::name);
    const auto at = static_cast<std::size_t>(found - chart.groups.begin());
    if (found == chart.groups.end()) {
        chart.groups.push_back({name, {}, 0});
    }
    return at;
}

static void add_points(const ManyRuns& table, std::string_view group, ParetoChart& chart) {
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
        return invalid(
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
            charts.push_back({known_figure(std::string(x) + percentile), known_figure(y + suffix)});
        }
    }
    return charts;
}

bool knows_gpus(const ManyRuns& table) {
    return !table.runs.empty() && std::ranges::all_of(table.runs, [](const TableRun& run) {
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

// `put` finds these by the types of their values, so that they are in no namespace of the file.

static void put_value(JsonWriter& json, const CellFigure& value) {
    put_object(json, {{"mean", value.mean},
                      {"low", value.low},
                      {"high", value.high},
                      {"runs", value.runs},
                      {"below_floor", value.below_floor}});
}

static void put_value(JsonWriter& json, const TableFigure& figure) {
    put_object(json, {{"name", figure.name},
                      {"title", figure.title},
                      {"unit", figure.unit},
                      {"better", figure.better},
                      {"floor", figure.floor()}});
}

static void put_value(JsonWriter& json, const TableRun& run) {
    put_object(json, {{"folder", run.folder},
                      {"name", run.name},
                      {"outcome", run.outcome},
                      {"verdict", or_null(run.summary ? run.summary->verdict() : "")},
                      {"left_out", or_null(run.left_out)},
                      {"labels", put_named(run.labels)}});
}

static void put_value(JsonWriter& json, const ChartGroup& group) {
    put_object(
        json,
        {{"name", group.name}, {"hypervolume", group.hypervolume}, {"frontier", group.frontier}});
}

static void put_value(JsonWriter& json, const ParetoChart& chart) {
    const auto put_point = [&chart](JsonWriter& to, const ChartPoint& point) {
        const std::size_t by = point.on_all ? 0 : chart.points[point.dominated.by].cell;
        put_object(to, {{"cell", point.cell},
                        {"group", point.group},
                        {"x", point.x},
                        {"y", point.y},
                        {"on_frontier", point.on_frontier},
                        {"on_frontier_of_all", point.on_all},
                        {"dominated_by", known_if(!point.on_all, by)},
                        {"dominating", point.dominated.count}});
    };
    put_object(json, {{"x", chart.axes.x},
                      {"y", chart.axes.y},
                      {"reference", std::vector{chart.reference.x, chart.reference.y}},
                      {"hypervolume", chart.hypervolume},
                      {"frontier", chart.frontier},
                      {"groups", chart.groups},
                      {"points", put_each(chart.points, put_point)},
                      {"missing", chart.missing}});
}

std::string table_json(const TableDocument& document) {
    const ManyRuns& table = document.table;
    const auto put_cell = [&table](JsonWriter& to, const RunCell& cell) {
        std::vector<std::pair<std::string_view, std::optional<std::string_view>>> values;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            values.emplace_back(table.columns[i], or_null(cell.values[i]));
        }
        std::vector<std::pair<std::string_view, std::optional<CellFigure>>> figures;
        for (const TableFigure& figure : table_figures()) {
            figures.emplace_back(figure.name, figure_of(table, cell, figure));
        }
        const auto put_run = [&table](JsonWriter& runs, std::size_t index) {
            put_value(runs, table.runs[index]);
        };
        put_object(to, {{"name", cell.name},
                        {"values", put_named(values)},
                        {"counts", cell.counts},
                        {"shown", cell.shown.size()},
                        {"runs", put_each(cell.runs, put_run)},
                        {"figures", put_named(figures)}});
    };
    return printable_json({{"schema", table_schema},
                           {"columns", table.columns},
                           {"group", or_null(document.group)},
                           {"differences", document.differences},
                           {"cells", put_each(table.cells, put_cell)},
                           {"charts", document.charts}});
}

static constexpr std::array<std::string_view, 2> scripts{"frontier", "many_runs"};

static std::filesystem::path absolute_place(const std::string& path) {
    std::error_code error;
    const std::filesystem::path full = std::filesystem::absolute(path, error);
    return (error ? std::filesystem::path(path) : full).lexically_normal();
}

/// [cells][runs]; null where the folder is not there any more.
static std::vector<std::vector<std::optional<std::string>>> links_of(const ManyRuns& table,
                                                                     const std::string& page_path) {
    const std::string page_folder = absolute_place(page_path).parent_path().string();
    std::vector<std::vector<std::optional<std::string>>> links;
    for (const RunCell& cell : table.cells) {
        std::vector<std::optional<std::string>>& of_cell = links.emplace_back();
        for (const std::size_t index : cell.runs) {
            std::string link = link_to_run(table.runs[index].folder, page_folder);
            of_cell.push_back(known_if(!link.empty(), std::move(link)));
        }
    }
    return links;
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/").find(c) != std::string_view::npos;
}

/// A file or folder as a link from a page in `from`, escaped as in a URL. Both are absolute.
static std::string relative_link(const std::string& from, const std::string& to) {
    const std::string path =
        std::filesystem::path(to).lexically_relative(std::filesystem::path(from)).generic_string();
    std::string link;
    for (const char c : path) {
        link +=
            is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return link;
}

std::string link_to_run(const std::string& folder, const std::string& page_folder) {
    const std::filesystem::path home = absolute_place(folder);
    std::error_code error;
    for (const std::filesystem::path& place : {home / "report.html", home}) {
        if (std::filesystem::exists(place, error)) {
            return relative_link(absolute_place(page_folder).string(), place.string());
        }
    }
    return "";
}

std::string table_page(const TableDocument& document, const std::string& page_path) {
    const std::string data = json_text(
        JsonPairs{{"program", std::string("driftless ") + version()},
                  {"table", [&document](JsonWriter& to) { to.raw(table_json(document)); }},
                  {"links", links_of(document.table, page_path)}});
    return page_text(counted(document.table.runs.size(), "run", "runs"), scripts, data);
}

}  // namespace driftless
