#include "cmd/compare/table/llmd_reports.hpp"

#include <algorithm>

#include "cmd/compare/table/run_views.hpp"
#include "engine/views/view.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

void write_keywords(JsonWriter& json, const TableRun& run) {
    json.key("keywords").begin_array();
    for (const auto& [name, value] : run.labels) {
        json.string(name + "=" + value);
    }
    for (const CellValue& one : run.values) {
        if (!run.label(one.name)) {  // a sweep labels its runs with the values of its flags
            json.string(one.name + "=" + one.value);
        }
    }
    json.end_array();
}

/// Who the run was: `eid` is the experiment, `description` the cell.
void write_run(JsonWriter& json, const TableRun& run, JsonValue seen) {
    json.key("run").begin_object();
    json.key("uid").raw(seen.find("uid").raw());
    if (!run.sweep.empty()) {
        json.key("eid").string(run.sweep.substr(run.sweep.rfind('/') + 1));
    }
    json.key("time").raw(seen.find("time").raw());
    json.key("description").string(run.cell.empty() ? run.name : run.cell);
    write_keywords(json, run);
    json.end_object();
}

}  // namespace

std::string llmd_report(const TableRun& run, const std::string& view) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(view);
    CHECK(root);
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (JsonValue one = root.value().first(); one.present(); one = one.next()) {
        if (one.key() == "run") {
            write_run(json, run, one);
        } else {
            json.key(one.key()).raw(one.raw());
        }
    }
    json.end_object();
    return text;
}

std::string llmd_reports(const ManyRuns& table, std::string& why) {
    std::string text;
    std::size_t reports = 0;
    for (const TableRun& run : table.runs) {
        if (!run.counts()) {
            continue;
        }
        ViewedRun viewed;
        if (why = view_run(run, viewed); !why.empty()) {
            return "";
        }
        text += (reports++ > 0 ? ",\n" : "") + llmd_report(run, llmd_view(viewed).json);
    }
    escape_unprintable_json(text, 0);
    return reports == 1 ? text + "\n" : "[\n" + text + "\n]\n";
}

}  // namespace driftless
