#include "cmd/report/page.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/report/jsonl_rows.hpp"
#include "cmd/report/page_column.hpp"
#include "cmd/report/page_readings.hpp"
#include "cmd/report/page_shell.hpp"
#include "cmd/report/prefix_forecast.hpp"
#include "cmd/report/record_pass.hpp"
#include "cmd/report/server_table.hpp"
#include "cmd/version.hpp"
#include "proto/core/check.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

/// Of this page alone, in the order in which they need each other.
constexpr std::array<std::string_view, 14> run_scripts{
    "run",   "record", "load",   "steady",   "latency",  "why",         "forecast",
    "cache", "server", "client", "sessions", "outcomes", "definitions", "page",
};
constexpr std::array page_tables{RunTable::requests, RunTable::periods, RunTable::client,
                                 RunTable::events};

/// A table of the run's files, or as many of its rows as the page has.
struct PageTable {
    std::vector<PageColumn> columns;
    std::uint64_t kept = 0;
    std::uint64_t read = 0;

    const PageColumn* find(std::string_view name) const {
        const auto found =
            std::find_if(columns.begin(), columns.end(),
                         [name](const PageColumn& one) { return one.name() == name; });
        return found == columns.end() ? nullptr : &*found;
    }
};

/// Columns of a table of this run: only records of a merged run have a shard.
std::vector<Figure> columns_of(const ReportedRun& run, RunTable which) {
    std::vector<Figure> columns = figures_of(which);
    if (run.figures.shards.empty()) {
        std::erase_if(columns, [](const Figure& one) { return one.name == "shard"; });
    }
    return columns;
}

PageTable empty_table(const std::vector<Figure>& columns) {
    PageTable table;
    for (const Figure& figure : columns) {
        table.columns.emplace_back(figure);
    }
    return table;
}

void keep_row(const TableRow& row, PageTable& table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        table.columns[i].add(row[i]);
    }
    ++table.kept;
}

std::optional<PageTable> read_table(const ReportedRun& run, RunTable which, std::string& why) {
    const std::string path = run.folder + "/" + std::string(name_of(which)) + ".jsonl";
    Result<JsonlRows> rows = JsonlRows::open(path, columns_of(run, which), why);
    if (!rows) {
        return {};
    }
    PageTable table = empty_table(rows.value().columns());
    while (const TableRow* const row = rows.value().next()) {
        ++table.read;
        keep_row(*row, table);
    }
    why = rows.value().why();
    return why.empty() ? std::optional(std::move(table)) : std::nullopt;
}

/// `stride`: the table has every so many records. `readings` get all of them.
std::optional<PageTable> read_requests(const ReportedRun& run, std::uint64_t stride,
                                       PageReadings& readings, std::string& why) {
    const std::vector<Figure> columns = columns_of(run, RunTable::requests);
    PageTable table = empty_table(columns);
    JsonDocument document;
    TableRow row;
    why = each_record(run, [&](const Record& record, std::string_view line) {
        readings.add(record);
        if (table.read++ % stride == 0) {
            const Result<JsonValue> root = document.parse(line);
            CHECK(root);  // it is a record
            read_cells(root.value(), columns, row);
            keep_row(row, table);
        }
    });
    return why.empty() ? std::optional(std::move(table)) : std::nullopt;
}

void add_table(JsonWriter& json, const char* name, const PageTable& table) {
    json.key(name).begin_object();
    json.key("rows").unsigned_integer(table.kept).key("of").unsigned_integer(table.read);
    json.key("columns");
    write_page_columns(json, table.columns);
    json.end_object();
}

/// Of the requests of one pass through the trace, all of which are on the page.
PrefixForecast forecast_of(const ReportedRun& run, const PageTable& requests) {
    PrefixForecast none;
    if (requests.kept < requests.read) {
        none.why_not = "Prompt sharing is shown only for shorter runs.";
        return none;
    }
    struct FiredPrompt {
        std::int64_t fired_ns;
        SentPrompt prompt;
    };
    std::vector<FiredPrompt> fired;
    for (std::size_t row = 0; row < requests.kept; ++row) {
        const auto of = [&](const char* name) { return requests.find(name)->integer(row); };
        if (of("pass").value_or(0) > 0 || of("live_turns")) {
            none.why_not =
                "Prompts were not only the trace's: the run replayed it several times, or prompts "
                "had answers of this run.";
            return none;
        }
        if (of("side")) {
            none.why_not = "Each row went to two servers, each with its own cache.";
            return none;
        }
        if (const OptionalNs at = of("fired_ns")) {
            const auto index = static_cast<std::uint32_t>(of("row").value_or(0));
            fired.push_back({*at, {index, of("input_length"), of("cached_tokens")}});
        }
    }
    std::stable_sort(fired.begin(), fired.end(), [](const FiredPrompt& a, const FiredPrompt& b) {
        return a.fired_ns < b.fired_ns;
    });
    std::vector<SentPrompt> sent;
    for (const FiredPrompt& one : fired) {
        sent.push_back(one.prompt);
    }
    return forecast_prefixes(run, sent);
}

bool add_server(JsonWriter& json, const ReportedRun& run, std::string& why) {
    Result<std::vector<PageColumn>> columns = read_server_table(run.folder + "/server.jsonl", why);
    if (columns) {
        const std::uint64_t rows = columns.value().front().rows();
        add_table(json, "server", {std::move(columns).value(), rows, rows});
    }
    return static_cast<bool>(columns);
}

void add_run(JsonWriter& json, const ReportedRun& run) {
    const RunFacts& facts = run.facts;
    json.key("run").begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("kernel").string(facts.kernel).key("cpu").string(facts.cpu_model);
    json.key("zero_utc_ms").integer(facts.segments.front().clock.zero_utc_ns / 1'000'000);
    json.key("segments").unsigned_integer(facts.segments.size());
    json.key("ended").boolean(facts.ended);
    json.key("calibration");
    json.string(facts.calibration.why_not.empty() ? how_calibrated(facts.calibration)
                                                  : "not calibrated: " + facts.calibration.why_not);
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

/// Of so many records the page has every so many-th.
std::uint64_t stride_of(std::uint64_t records, std::uint64_t records_max) {
    return records > records_max ? (records + records_max - 1) / records_max : 1;
}

/// All that the page shows, as one JSON object; nothing where a file cannot be read.
std::optional<std::string> data_of(const ReportedRun& run, std::uint64_t records_max,
                                   std::string& why) {
    const std::uint64_t records = run.figures.rows + run.figures.warmup_rows;
    PageReadings readings;
    if (why = readings.begin(run); !why.empty()) {
        return {};
    }
    std::string text;
    JsonWriter json(text);
    json.begin_object().key("format").integer(1);
    add_run(json, run);
    json.key("summary").raw(run.summary);
    add_definitions(json);
    json.key("tables").begin_object();
    PrefixForecast forecast;
    for (const RunTable which : page_tables) {
        const bool is_requests = which == RunTable::requests;
        const std::optional<PageTable> table =
            is_requests ? read_requests(run, stride_of(records, records_max), readings, why)
                        : read_table(run, which, why);
        if (!table) {
            return {};
        }
        add_table(json, name_of(which), *table);
        if (is_requests) {
            forecast = forecast_of(run, *table);
        }
    }
    if (!add_server(json, run, why)) {
        return {};
    }
    json.end_object().key("forecast");
    write_forecast(json, forecast);
    if (why = readings.end(run); !why.empty()) {
        return {};
    }
    readings.write(json, stride_of(records, records_max));
    json.end_object();
    return text;
}

}  // namespace

Result<std::string> page_of(const ReportedRun& run, std::string& why, std::uint64_t records_max) {
    const std::optional<std::string> data = data_of(run, records_max, why);
    if (!data) {
        return Error{ErrorCode::invalid, 0, "read the run"};
    }
    return page_text(run.info.trace + " " + run.info.date, run_scripts, *data);
}

}  // namespace driftless
