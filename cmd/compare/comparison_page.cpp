#include "cmd/compare/comparison_page.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "cmd/compare/comparison_json.hpp"
#include "cmd/compare/screen.hpp"
#include "cmd/compare/whole_columns.hpp"
#include "cmd/report/page_shell.hpp"
#include "cmd/version.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

constexpr std::array<std::string_view, 1> scripts{"two_sides"};
/// More would make the page too large to be fluid: it has every second request then, or third.
constexpr std::size_t requests_max = 25'000;

/// What a request is, and its value on both sides for each of the four times.
std::vector<WholeColumn> request_columns(const Comparison& comparison, std::size_t stride) {
    std::vector<WholeColumn> columns{{"row", "", {}},
                                     {"pass", "", {}},
                                     {"turn", "", {}},
                                     {"due_ns", "ns", {}},
                                     {"input", "tokens", {}}};
    const std::size_t facts = columns.size();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const std::string name = name_of(static_cast<RowValue>(i));
        columns.push_back({name + "_a", "ns", {}});
        columns.push_back({name + "_b", "ns", {}});
    }
    for (std::size_t at = 0; at < comparison.requests.size(); at += stride) {
        const PairedRequest& one = comparison.requests[at];
        columns[0].values.push_back(one.row);
        columns[1].values.push_back(one.pass);
        columns[2].values.push_back(one.turn > 0 ? one.turn : unknown_value);
        columns[3].values.push_back(static_cast<double>(one.due_ns));
        columns[4].values.push_back(one.input_tokens);
        for (std::size_t i = 0; i < row_value_count; ++i) {
            columns[facts + 2 * i].values.push_back(one.a[i]);
            columns[facts + 2 * i + 1].values.push_back(one.b[i]);
        }
    }
    return columns;
}

void write_requests(JsonWriter& json, const Comparison& comparison) {
    const std::size_t all = comparison.requests.size();
    const std::vector<WholeColumn> columns = request_columns(comparison, all / requests_max + 1);
    json.key("requests").begin_object();
    json.key("rows").unsigned_integer(columns.front().values.size());
    json.key("of").unsigned_integer(all);
    json.key("columns");
    write_whole_columns(json, columns);
    json.end_object();
}

/// As they can be shown: a folder's name may hold anything.
void write_names(JsonWriter& json, const char* key, const std::vector<PlayedRun>& runs) {
    std::string names;
    for (const PlayedRun& run : runs) {
        names += (names.empty() ? "" : "; ") + printable(run.name());
    }
    json.key(key).string(names);
}

void write_notes(JsonWriter& json, const Comparison& comparison) {
    json.key("notes").begin_array();
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        json.begin_array().string(one.label).string(printable(one.text)).end_array();
    }
    json.end_array();
}

/// As on the screen, so that the page rounds nothing in another way.
void write_cells(JsonWriter& json, const Comparison& comparison) {
    json.key("cells").begin_array();
    for (const MetricComparison& metric : comparison.groups.metrics) {
        json.begin_array();
        for (const std::string& cell : metric_cells(metric, comparison.groups)) {
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
    write_names(json, "a", comparison.a);
    write_names(json, "b", comparison.b);
    write_notes(json, comparison);
    json.key("said").string(comparison_sentence(comparison.groups));
    json.key("titles").begin_array();
    for (const std::string& title : metric_titles(comparison.groups)) {
        json.string(title);
    }
    json.end_array();
    write_cells(json, comparison);
    json.key("where").begin_array();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        write_where(json, where_of(comparison, value), value);
    }
    json.end_array();
    write_requests(json, comparison);
    json.end_object();
    return page_text(
        printable(comparison.a.front().name() + " against " + comparison.b.front().name()), scripts,
        data);
}

}  // namespace driftless
