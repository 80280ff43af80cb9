#include "cmd/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/report/jsonl_rows.hpp"
#include "cmd/report/page_column.hpp"
#include "cmd/report/server_table.hpp"
#include "cmd/report/shipped_page.hpp"
#include "cmd/version.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/export/html.hpp"

namespace driftless {

namespace {

/// In the order in which they need each other.
constexpr std::array<std::string_view, 6> libraries{"d3-array",  "d3-collection",  "d3-color",
                                                    "d3-format", "d3-interpolate", "d3-scale"};
constexpr std::array<std::string_view, 17> scripts{
    "columns", "statistics", "words",    "run",         "draw",  "pointer",
    "chart",   "record",     "load",     "latency",     "cache", "server",
    "client",  "sessions",   "outcomes", "definitions", "page",
};
constexpr std::array page_tables{RunTable::requests, RunTable::periods, RunTable::client,
                                 RunTable::events};

std::string_view part(std::string_view name) {
    const auto all = shipped_page();
    const auto found = std::find_if(
        all.begin(), all.end(), [name](const ShippedPagePart& one) { return one.name == name; });
    CHECK(found != all.end());
    return found->text;
}

std::string path_of(const ReportedRun& run, RunTable table) {
    return table == RunTable::requests ? run.records_path()
                                       : run.folder + "/" + std::string(name_of(table)) + ".jsonl";
}

/// One table of the run's files. `stride`: every so many rows.
bool add_table(JsonWriter& json, const ReportedRun& run, RunTable table, std::uint64_t stride,
               std::string& why) {
    Result<JsonlRows> rows = JsonlRows::open(path_of(run, table), figures_of(table), why);
    if (!rows) {
        return false;
    }
    std::vector<PageColumn> columns;
    for (const Figure& figure : rows.value().columns()) {
        columns.emplace_back(figure);
    }
    std::uint64_t read = 0;
    std::uint64_t kept = 0;
    while (const TableRow* row = rows.value().next()) {
        if (read++ % stride == 0) {
            for (std::size_t i = 0; i < columns.size(); ++i) {
                columns[i].add((*row)[i]);
            }
            ++kept;
        }
    }
    why = rows.value().why();
    json.key(name_of(table)).begin_object();
    json.key("rows").unsigned_integer(kept).key("of").unsigned_integer(read);
    json.key("columns");
    write_page_columns(json, columns);
    json.end_object();
    return why.empty();
}

bool add_server(JsonWriter& json, const ReportedRun& run, std::string& why) {
    const Result<std::vector<PageColumn>> columns =
        read_server_table(run.folder + "/server.jsonl", why);
    if (!columns) {
        return false;
    }
    const std::uint64_t rows = columns.value().front().rows();
    json.key("server").begin_object();
    json.key("rows").unsigned_integer(rows).key("of").unsigned_integer(rows);
    json.key("columns");
    write_page_columns(json, columns.value());
    json.end_object();
    return true;
}

void add_run(JsonWriter& json, const ReportedRun& run) {
    const RunFacts& facts = run.facts;
    json.key("run").begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("kernel").string(facts.kernel).key("cpu").string(facts.cpu_model);
    json.key("zero_utc_ms").integer(facts.segments.front().clock.zero_utc_ns / 1'000'000);
    json.key("segments").unsigned_integer(facts.segments.size());
    json.key("ended").boolean(facts.ended);
    json.key("calibration").string(how_calibrated(facts.calibration));
    json.end_object();
}

void add_definitions(JsonWriter& json) {
    json.key("definitions").begin_array();
    for (const RunTable table : {RunTable::summary, RunTable::requests, RunTable::periods,
                                 RunTable::client, RunTable::events}) {
        for (const Figure& figure : figures_of(table)) {
            json.begin_array().string(name_of(table)).string(figure.name).string(figure.unit);
            json.string(figure.definition).end_array();
        }
    }
    json.end_array();
}

/// All that the page shows, as one JSON object; nothing where a file cannot be read.
std::optional<std::string> data_of(const ReportedRun& run, std::uint64_t records_max,
                                   std::string& why) {
    const std::uint64_t records = run.figures.rows + run.figures.warmup_rows;
    std::string text;
    JsonWriter json(text);
    json.begin_object().key("format").integer(1);
    add_run(json, run);
    json.key("summary").raw(run.summary);
    add_definitions(json);
    json.key("tables").begin_object();
    for (const RunTable table : page_tables) {
        const bool many = table == RunTable::requests && records > records_max;
        const std::uint64_t stride = many ? (records + records_max - 1) / records_max : 1;
        if (!add_table(json, run, table, stride, why)) {
            return {};
        }
    }
    if (!add_server(json, run, why)) {
        return {};
    }
    json.end_object().end_object();
    return text;
}

/// What stands in the page for a word between two @ in its shell.
struct Filling {
    std::string_view mark;
    std::string_view text;
};

/// In one pass, so that no mark is looked for in what was filled in.
std::string filled(std::string_view shell, std::span<const Filling> fillings) {
    std::string page;
    for (std::size_t from = 0;;) {
        const std::size_t at = shell.find('@', from);
        page += shell.substr(from, at - from);
        if (at == shell.npos) {
            return page;
        }
        const std::size_t end = shell.find('@', at + 1);
        CHECK(end != shell.npos);
        const std::string_view mark = shell.substr(at + 1, end - at - 1);
        const auto found = std::find_if(fillings.begin(), fillings.end(),
                                        [mark](const Filling& one) { return one.mark == mark; });
        CHECK(found != fillings.end());
        page += found->text;
        from = end + 1;
    }
}

}  // namespace

Result<std::string> page_of(const ReportedRun& run, std::string& why, std::uint64_t records_max) {
    const std::optional<std::string> data = data_of(run, records_max, why);
    if (!data) {
        return Error{ErrorCode::invalid, 0, "read the run"};
    }
    std::string title;
    append_html_text(title, run.info.trace + " " + run.info.date);
    std::string code;
    for (const std::string_view name : libraries) {
        code.append(part(name)).append("\n");
    }
    for (const std::string_view name : scripts) {
        code.append(part(name)).append("\n");
    }
    // Only what has this word runs. Nobody can know it who does not know every stamp of the run.
    Digest digest;
    digest.add(*data);
    const std::string nonce =
        fmt::format("{:016x}{:016x}", digest.value(), mix64(digest.value() ^ data->size()));
    std::string json;
    append_script_json(json, *data);
    const std::array fillings{
        Filling{"nonce", nonce},         Filling{"title", title},
        Filling{"style", part("style")}, Filling{"licence", part("licence")},
        Filling{"code", code},           Filling{"data", json},
    };
    return filled(part("shell"), fillings);
}

}  // namespace driftless
