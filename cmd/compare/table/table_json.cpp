#include "cmd/compare/table/table_json.hpp"

#include <array>
#include <optional>

#include "proto/core/check.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::array figure_names{
    "completed",
    "failed",
    "errors",
    "tainted",
    "request_throughput",
    "request_goodput",
    "input_throughput",
    "output_throughput",
    "total_token_throughput",
    "ttft:mean",
    "ttft:p50",
    "ttft:p90",
    "ttft:p99",
    "ttft:p99.9",
    "tpot:mean",
    "tpot:p50",
    "tpot:p90",
    "tpot:p99",
    "tpot:p99.9",
    "e2e:mean",
    "e2e:p50",
    "e2e:p90",
    "e2e:p99",
    "e2e:p99.9",
    "interactivity:p50",
    "interactivity:p90",
    "interactivity:p99",
    "hits",
    "joules_per_token",
};

const char* name_of(Better better) {
    return better == Better::low ? "low" : "high";
}

void write_texts(JsonWriter& json, const char* key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& text : texts) {
        json.string(text);
    }
    json.end_array();
}

void write_indices(JsonWriter& json, const char* key, const std::vector<std::size_t>& indices) {
    json.key(key).begin_array();
    for (const std::size_t index : indices) {
        json.unsigned_integer(index);
    }
    json.end_array();
}

void write_value(JsonWriter& json, const CellFigure& value) {
    json.key("mean").number(value.mean).key("low").number(value.low);
    json.key("high").number(value.high).key("runs").unsigned_integer(value.runs);
    json.key("below_floor").boolean(value.below_floor);
}

void write_figures(JsonWriter& json, const ManyRuns& table, const RunCell& cell) {
    json.key("figures").begin_object();
    for (const char* const name : figure_names) {
        const Result<TableFigure> figure = parse_table_figure(name);
        CHECK(figure);
        json.key(name);
        if (const std::optional<CellFigure> value = figure_of(table, cell, figure.value())) {
            json.begin_object();
            write_value(json, *value);
            json.end_object();
        } else {
            json.null();
        }
    }
    json.end_object();
}

void write_run(JsonWriter& json, const TableRun& run) {
    json.begin_object();
    json.key("folder").string(run.folder).key("name").string(run.name);
    json.key("outcome").string(run.outcome).key("verdict");
    run.summary && !run.summary->verdict().empty() ? json.string(run.summary->verdict())
                                                   : json.null();
    json.key("left_out");
    run.left_out.empty() ? json.null() : json.string(run.left_out);
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
        json.key(table.columns[i]);
        cell.values[i].empty() ? json.null() : json.string(cell.values[i]);
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
    json.key("x").begin_object();
    write_value(json, point.x);
    json.end_object();
    json.key("y").begin_object();
    write_value(json, point.y);
    json.end_object();
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
    json.key("group");
    document.group.empty() ? json.null() : json.string(document.group);
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

}  // namespace driftless
