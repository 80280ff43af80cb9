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
#include "proto/json/write.hpp"

namespace driftless {

namespace {

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
        return Error{
            ErrorCode::invalid, 0,
            "names only one figure; give one for each axis, as in \"ttft:p99:output_throughput\""};
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
    const auto found = std::ranges::find_if(
        chart.groups, [&name](const ChartGroup& one) { return one.name == name; });
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
        return Error{ErrorCode::invalid, 0,
                     "names more than two figures; give one for each axis, as in "
                     "\"ttft:p99:output_throughput\""};
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

namespace {

const char* name_of(Better better) {
    return better == Better::low ? "low" : "high";
}

void write_indices(JsonWriter& json, const char* key, const std::vector<std::size_t>& indices) {
    json.key(key).begin_array();
    for (const std::size_t index : indices) {
        json.unsigned_integer(index);
    }
    json.end_array();
}

void write_value(JsonWriter& json, const CellFigure& value) {
    json.begin_object().key("mean").number(value.mean).key("low").number(value.low);
    json.key("high").number(value.high).key("runs").unsigned_integer(value.runs);
    json.key("below_floor").boolean(value.below_floor).end_object();
}

void write_figures(JsonWriter& json, const ManyRuns& table, const RunCell& cell) {
    json.key("figures").begin_object();
    for (const TableFigure& figure : table_figures()) {
        json.key(figure.name);
        const std::optional<CellFigure> value = figure_of(table, cell, figure);
        value ? write_value(json, *value) : void(json.null());
    }
    json.end_object();
}

void write_run(JsonWriter& json, const TableRun& run) {
    json.begin_object();
    json.key("folder").string(run.folder).key("name").string(run.name);
    json.key("outcome").string(run.outcome).key("verdict");
    run.summary && !run.summary->verdict().empty() ? json.string(run.summary->verdict())
                                                   : json.null();
    write_optional_text(json, "left_out", run.left_out);
    json.key("labels").begin_object();
    for (const auto& [name, value] : run.labels) {
        json.key(name).string(value);
    }
    json.end_object();
    json.end_object();
}

void write_cell(JsonWriter& json, const ManyRuns& table, const RunCell& cell) {
    json.begin_object();
    json.key("name").string(cell.name).key("values").begin_object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        write_optional_text(json, table.columns[i], cell.values[i]);
    }
    json.end_object();
    json.key("counts").boolean(cell.counts);
    json.key("shown").unsigned_integer(cell.shown.size());
    json.key("runs").begin_array();
    for (const std::size_t index : cell.runs) {
        write_run(json, table.runs[index]);
    }
    json.end_array();
    write_figures(json, table, cell);
    json.end_object();
}

void write_axis(JsonWriter& json, const char* key, const TableFigure& figure) {
    json.key(key).begin_object();
    json.key("name").string(figure.name).key("title").string(figure.title);
    json.key("unit").string(name_of(figure.unit)).key("better").string(name_of(figure.better));
    json.key("floor").unsigned_integer(figure.floor());
    json.end_object();
}

void write_point(JsonWriter& json, const ParetoChart& chart, const ChartPoint& point) {
    json.begin_object();
    json.key("cell").unsigned_integer(point.cell).key("group").unsigned_integer(point.group);
    json.key("x");
    write_value(json, point.x);
    json.key("y");
    write_value(json, point.y);
    json.key("on_frontier").boolean(point.on_frontier);
    json.key("on_frontier_of_all").boolean(point.on_all);
    json.key("dominated_by");
    point.on_all ? json.null() : json.unsigned_integer(chart.points[point.dominated.by].cell);
    json.key("dominating").unsigned_integer(point.dominated.count);
    json.end_object();
}

void write_chart(JsonWriter& json, const ParetoChart& chart) {
    json.begin_object();
    write_axis(json, "x", chart.axes.x);
    write_axis(json, "y", chart.axes.y);
    json.key("reference").begin_array().number(chart.reference.x).number(chart.reference.y);
    json.end_array();
    json.key("hypervolume").number(chart.hypervolume);
    write_indices(json, "frontier", chart.frontier);
    json.key("groups").begin_array();
    for (const ChartGroup& group : chart.groups) {
        json.begin_object().key("name").string(group.name);
        json.key("hypervolume").number(group.hypervolume);
        write_indices(json, "frontier", group.frontier);
        json.end_object();
    }
    json.end_array().key("points").begin_array();
    for (const ChartPoint& point : chart.points) {
        write_point(json, chart, point);
    }
    json.end_array();
    write_indices(json, "missing", chart.missing);
    json.end_object();
}

}  // namespace

std::string table_json(const TableDocument& document) {
    std::string text;
    JsonWriter json(text);
    json.begin_object().key("schema").integer(table_schema);
    write_texts(json, "columns", document.table.columns);
    write_optional_text(json, "group", document.group);
    write_texts(json, "differences", document.differences);
    json.key("cells").begin_array();
    for (const RunCell& cell : document.table.cells) {
        write_cell(json, document.table, cell);
    }
    json.end_array().key("charts").begin_array();
    for (const ParetoChart& chart : document.charts) {
        write_chart(json, chart);
    }
    json.end_array().end_object();
    escape_unprintable_json(text, 0);
    return text;
}

namespace {

constexpr std::array<std::string_view, 2> scripts{"frontier", "many_runs"};

std::filesystem::path absolute_place(const std::string& path) {
    std::error_code error;
    const std::filesystem::path full = std::filesystem::absolute(path, error);
    return (error ? std::filesystem::path(path) : full).lexically_normal();
}

void write_links(JsonWriter& json, const ManyRuns& table, const std::string& page_path) {
    const std::string page_folder = absolute_place(page_path).parent_path().string();
    json.key("links").begin_array();
    for (const RunCell& cell : table.cells) {
        json.begin_array();
        for (const std::size_t index : cell.runs) {
            const std::string link = link_to_run(table.runs[index].folder, page_folder);
            link.empty() ? json.null() : json.string(link);
        }
        json.end_array();
    }
    json.end_array();
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/").find(c) != std::string_view::npos;
}

/// A file or folder as a link from a page in `from`, escaped as in a URL. Both are absolute.
std::string relative_link(const std::string& from, const std::string& to) {
    const std::string path =
        std::filesystem::path(to).lexically_relative(std::filesystem::path(from)).generic_string();
    std::string link;
    for (const char c : path) {
        link +=
            is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return link;
}

}  // namespace

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
    std::string data;
    JsonWriter json(data);
    json.begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("table").raw(table_json(document));
    write_links(json, document.table, page_path);
    json.end_object();
    return page_text(counted(document.table.runs.size(), "run", "runs"), scripts, data);
}

}  // namespace driftless
