#include "cmd/compare/comparison_page.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cmd/compare/comparison_json.hpp"
#include "cmd/compare/screen.hpp"
#include "cmd/report/page_column.hpp"
#include "cmd/report/page_shell.hpp"
#include "cmd/version.hpp"

namespace driftless {

namespace {

constexpr std::array<std::string_view, 1> scripts{"two_sides"};
/// More would make the page too large to be fluid: it has every second request then, or third.
constexpr std::size_t requests_max = 25'000;

PageColumn whole_column(const std::string& name, const char* unit) {
    Figure figure;
    figure.path = {name};
    figure.name = name;
    figure.unit = unit;
    figure.holds_numbers = true;
    return PageColumn(figure);
}

void add(PageColumn& column, double value) {
    TableCell cell;
    if (std::isfinite(value)) {
        cell.kind = CellKind::number;
        cell.text = fmt::format("{:.0f}", value);
    }
    column.add(cell);
}

/// What a request is, and its value on both sides for each of the four times, whole ns.
std::vector<PageColumn> request_columns(const Comparison& comparison, std::size_t stride) {
    std::vector<PageColumn> columns{
        whole_column("row", ""),         whole_column("pass", ""),
        whole_column("turn", ""),        whole_column("due_ns", "ns"),
        whole_column("input", "tokens"), whole_column("hit_per_mille", ""),
    };
    const std::size_t facts = columns.size();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const std::string name = name_of(static_cast<RowValue>(i));
        columns.push_back(whole_column(name + "_a", "ns"));
        columns.push_back(whole_column(name + "_b", "ns"));
    }
    for (std::size_t at = 0; at < comparison.requests.size(); at += stride) {
        const PairedRequest& one = comparison.requests[at];
        const double turn = one.turn > 0 ? one.turn : unknown_value;
        const std::array<double, 6> values{static_cast<double>(one.row),
                                           static_cast<double>(one.pass),
                                           turn,
                                           static_cast<double>(one.due_ns),
                                           one.input_tokens,
                                           1000 * one.expected_hit};
        for (std::size_t i = 0; i < facts; ++i) {
            add(columns[i], values[i]);
        }
        for (std::size_t i = 0; i < row_value_count; ++i) {
            add(columns[facts + 2 * i], one.a[i]);
            add(columns[facts + 2 * i + 1], one.b[i]);
        }
    }
    return columns;
}

void write_requests(JsonWriter& json, const Comparison& comparison) {
    const std::size_t all = comparison.requests.size();
    const std::size_t stride = all / requests_max + 1;
    const std::vector<PageColumn> columns = request_columns(comparison, stride);
    json.key("requests").begin_object();
    json.key("rows").unsigned_integer(columns.front().rows()).key("of").unsigned_integer(all);
    json.key("columns");
    write_page_columns(json, columns);
    json.end_object();
}

void write_notes(JsonWriter& json, const Comparison& comparison) {
    json.key("notes").begin_array();
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        json.begin_array().string(one.label).string(one.text).end_array();
    }
    json.end_array();
}

/// As on the screen, so that the page rounds nothing in another way.
void write_cells(JsonWriter& json, const Comparison& comparison) {
    json.key("cells").begin_array();
    for (const MetricComparison& metric : comparison.groups.metrics) {
        json.begin_array();
        for (const std::string& cell : metric_cells(metric)) {
            json.string(cell);
        }
        json.end_array();
    }
    json.end_array();
}

}  // namespace

std::string comparison_page(const Comparison& comparison) {
    std::string data;
    JsonWriter json(data);
    json.begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("comparison").raw(comparison_json(comparison));
    write_notes(json, comparison);
    write_cells(json, comparison);
    json.key("where").begin_array();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        write_where(json, where_of(comparison, value), value);
    }
    json.end_array();
    write_requests(json, comparison);
    json.end_object();
    return page_text(comparison.a.front().name() + " against " + comparison.b.front().name(),
                     scripts, data);
}

}  // namespace driftless
