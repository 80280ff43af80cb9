#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "cmd/base/run_folder.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

/// What a view needs of the sums: the summary has them, so that the records are read once.
static SummaryFigures figures_in(JsonValue summary) {
    SummaryFigures figures;
    figures.duration_ns =
        std::llround(summary.find("duration").as_double().value_or(0) * 1'000'000'000);
    return figures;
}

/// Gives what `use` makes of the run as the readers of reports want it. Returns why the run cannot
/// be read, or what `use` returns.
template <typename Use>
static std::string with_reported(const TableRun& run, Use use) {
    RunFacts facts;
    if (std::string why = read_run(run.folder, facts); !why.empty()) {
        return why;
    }
    const SummaryFigures figures = figures_in(run.summary->root());
    return use(ReportedRun{run.folder, facts, figures, facts.info, ""});
}

static std::string read_one(TableRun& run) {
    Sample sample;
    std::string why = with_reported(run, [&sample](const ReportedRun& reported) {
        return each_record(reported, [&sample](const Record& record) {
            const bool counts = record.phase == Phase::profile && record.outcome == Outcome::ok &&
                                record.e2e_ns && counts_output(record) && *record.output_tokens > 0;
            if (counts) {
                sample.add(in_ms(*record.e2e_ns) / static_cast<double>(*record.output_tokens));
            }
        });
    });
    run.e2e_per_token = sample.distribution();
    return why;
}

std::string read_e2e_per_token(std::vector<TableRun>& runs) {
    for (TableRun& run : runs) {
        if (run.counts()) {
            if (std::string why = read_one(run); !why.empty()) {
                return why;
            }
        }
    }
    return "";
}

namespace {

struct Column {
    std::string name;
    TableFigure figure;
};

}  // namespace

/// "p99_ttft_ms" of ttft:p99, "interactivity_p50" of interactivity:p50. Their word of E2E is
/// latency.
static std::string column_name(const TableFigure& figure) {
    const std::size_t colon = figure.name.find(':');
    if (colon == figure.name.npos) {
        return figure.name;
    }
    const std::string statistic = figure.name.substr(colon + 1);
    const std::string name = figure.name.substr(0, colon);
    return figure.unit == TableUnit::ms
               ? statistic + "_" + (name == "e2e" ? "latency" : name) + "_ms"
               : name + "_" + statistic;
}

/// As InferenceX names and counts them.
static const std::vector<Column>& theirs() {
    static const std::vector<Column> columns = [] {
        std::vector<Column> all;
        for (const auto& [name, figure] :
             {std::pair("num_requests", "completed"),
              std::pair("throughput_rps", "request_throughput"),
              std::pair("input_throughput_tps", "input_throughput"),
              std::pair("output_throughput_tps", "output_throughput"),
              std::pair("total_throughput_tps", "total_token_throughput")}) {
            all.push_back({name, known_figure(figure)});
        }
        for (const char* const time : {"ttft:", "tpot:", "e2e:"}) {
            for (const char* const statistic : {"mean", "p50", "p90", "p99"}) {
                TableFigure figure = known_figure(std::string(time) + statistic);
                all.push_back({column_name(figure), std::move(figure)});
            }
        }
        return all;
    }();
    return columns;
}

/// The other figures of a table.
static const std::vector<Column>& ours() {
    static const std::vector<Column> columns = [] {
        std::vector<Column> all;
        for (const TableFigure& figure : table_figures()) {
            const auto name_of_theirs = [](const Column& one) { return one.figure.name; };
            if (std::ranges::count(theirs(), figure.name, name_of_theirs) == 0) {
                all.push_back({column_name(figure), figure});
            }
        }
        return all;
    }();
    return columns;
}

/// Percent of looked-up prompt tokens that the server's own counters say were hits of a tier.
static std::string tier_rate(const ManyRuns& table, const RunCell& cell, const char* hits) {
    double sum = 0;
    std::size_t count = 0;
    for (const std::size_t index : cell.shown) {
        const JsonValue server = table.runs[index].summary->root().find("server");
        const std::optional<double> part = server.find(hits).as_double();
        const std::optional<double> whole = server.find("prefix_query_tokens").as_double();
        if (part && whole && *whole > 0) {
            sum += 100 * *part / *whole;
            ++count;
        }
    }
    return count == 0 ? "" : fmt::format("{}", sum / static_cast<double>(count));
}

static std::string outcomes_of(const ManyRuns& table, const RunCell& cell) {
    std::string text;
    for (const std::size_t index : cell.counts ? cell.shown : cell.runs) {
        const std::string& outcome = table.runs[index].outcome;
        if (text.find(outcome) == text.npos) {
            text += (text.empty() ? "" : " ") + outcome;
        }
    }
    return text;
}

static std::string why_of(const ManyRuns& table, const RunCell& cell) {
    std::string text;
    for (const std::size_t index : cell.runs) {
        const std::string& why = table.runs[index].left_out;
        text += (text.empty() || why.empty() ? "" : "; ") + why;
    }
    return text;
}

/// A cell; null: the names of what it says. What differs among the runs; InferenceX's columns,
/// unless that has their names; then ours.
static void add_line(const ManyRuns& table, const RunCell* cell, CsvLines& line) {
    const auto add = [&](const std::string& name, const auto& of) {
        line.add(cell == nullptr ? name : std::string(std::invoke(of, *cell)));
    };
    const auto add_name = [&](const char* name, const auto& of) {
        if (std::ranges::find(table.columns, name) == table.columns.end()) {
            add(name, of);
        }
    };
    const auto add_figure = [&](const std::string& name, const Column& column,
                                double CellFigure::* part = &CellFigure::mean) {
        add(name + column.name, [&](const RunCell& one) {
            const std::optional<CellFigure> value = figure_of(table, one, column.figure);
            return value ? fmt::format("{}", (*value).*part) : "";
        });
    };
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        add(table.columns[i], [i](const RunCell& one) { return one.values[i]; });
    }
    add_name("exp_name", &RunCell::name);
    for (const char* const name : {"tp", "users", "offload"}) {
        add_name(name, [&](const RunCell& one) { return value_of(table, one, name); });
    }
    add_name("status", [](const RunCell& one) { return one.counts ? "SUCCESS" : "FAILED"; });
    for (const Column& column : theirs()) {
        add_figure("", column);
    }
    for (const auto& [name, hits] : {std::pair("gpu_hit_rate", "prefix_hit_tokens"),
                                     std::pair("cpu_hit_rate", "host_hit_tokens")}) {
        add(name, [&](const RunCell& one) { return tier_rate(table, one, hits); });
    }
    add("outcome", [&](const RunCell& one) { return outcomes_of(table, one); });
    add("verdict", [&](const RunCell& one) {
        return one.shown.empty() ? "" : table.runs[one.shown.front()].summary->verdict();
    });
    add("runs", [](const RunCell& one) { return std::to_string(one.shown.size()); });
    for (const Column& column : ours()) {
        add_figure("", column);
    }
    for (const Column& column : theirs()) {
        add_figure("low_", column, &CellFigure::low);
        add_figure("high_", column, &CellFigure::high);
    }
    add("folders", [&](const RunCell& one) {
        return joined(one.shown, " ", [&](std::size_t index) { return table.runs[index].folder; });
    });
    add("left_out", [&](const RunCell& one) { return why_of(table, one); });
    line.end();
}

std::string table_csv(const ManyRuns& table) {
    std::string out;
    CsvLines lines(out);
    add_line(table, nullptr, lines);
    for (const RunCell& cell : table.cells) {
        add_line(table, &cell, lines);
    }
    return out;
}

namespace {

enum class Kind : std::uint8_t { text, integer, flag };
struct Provenance {
    const char* key;
    Kind kind;
};

}  // namespace

/// In the order of their file, up to the number of requests.
static constexpr std::array provenance{
    Provenance{"hw", Kind::text},
    Provenance{"conc", Kind::integer},
    Provenance{"image", Kind::text},
    Provenance{"model", Kind::text},
    Provenance{"infmax_model_prefix", Kind::text},
    Provenance{"framework", Kind::text},
    Provenance{"precision", Kind::text},
    Provenance{"spec_decoding", Kind::text},
    Provenance{"disagg", Kind::flag},
    Provenance{"scenario_type", Kind::text},
    Provenance{"is_multinode", Kind::flag},
    Provenance{"tp", Kind::integer},
    Provenance{"ep", Kind::integer},
    Provenance{"dp_attention", Kind::text},
    Provenance{"kv_offloading", Kind::text},
    Provenance{"kv_offload_backend", Kind::text},
    Provenance{"allocated_cpu_dram_gb", Kind::integer},
};
/// Behind the accounting.
static constexpr std::array shape{Provenance{"pp", Kind::integer},
                                  Provenance{"dcp_size", Kind::integer},
                                  Provenance{"pcp_size", Kind::integer}};

/// A label or an axis of that name; of some what the run itself says.
static std::string text_of(const TableRun& run, std::string_view key) {
    if (const std::optional<std::string> label = run.label(key)) {
        return *label;
    }
    if (const CellValue* const axis = find_value(run.values, key)) {
        return axis->value;
    }
    if (key == "model") {
        return std::string(value_in(run.load, "model"));
    }
    if (key == "scenario_type") {
        return "agentic-coding";  // what that file always is
    }
    if (key == "kv_offloading") {
        return run.label("offload").value_or(std::string(value_in(run.values, "offload")));
    }
    if (key == "conc") {
        const std::string_view users = value_in(run.load, "users");
        return std::string(users.empty() ? value_in(run.load, "max-inflight") : users);
    }
    return "";
}

static void put_one(JsonWriter& json, const TableRun& run, const Provenance& one) {
    const std::string text = text_of(run, one.key);
    const bool is_on = text == "true" || text == "1" || text == "yes" || text == "on";
    switch (one.kind) {
        case Kind::text:
            return put(json, {{one.key, or_null(text)}});
        case Kind::integer:
            return put(json, {{one.key, read_number<std::int64_t>(text)}});
        case Kind::flag:
            return put(json, {{one.key, known_if(!text.empty(), is_on)}});
    }
}

/// As the view has it, with what only labels know.
static std::string throughput_text(const TableRun& run, JsonValue throughput) {
    const std::optional<double> gpus = gpus_of(run);
    if (!gpus) {
        return std::string(throughput.raw());
    }
    const auto rate = [&](const char* side) {
        return quotient(throughput.find(side).find("tokens_per_second").as_double(), gpus);
    };
    return with_members(throughput,
                        {{"per_gpu", json_text(JsonPairs{{"total_tput_tps", rate("total")},
                                                         {"output_tput_tps", rate("output")},
                                                         {"input_tput_tps", rate("input")}})}});
}

/// The parts of it that servers tell us under names that mean the same.
static void put_server_metrics(JsonWriter& json, JsonValue server) {
    const auto of = [&server](const char* key) { return server.find(key).as_double(); };
    const std::optional<double> queries = of("prefix_query_tokens");
    const auto most = [&server](const char* key) {
        return server.find(key).find("max").as_double();
    };
    put_object(json,
               {{"present", server.is(JsonType::object)},
                {"cache",
                 JsonPairs{{"gpu_cache_hit_rate", quotient(of("prefix_hit_tokens"), queries)},
                           {"cpu_cache_hit_rate", quotient(of("host_hit_tokens"), queries)},
                           {"external_cache_hit_rate", quotient(of("remote_hit_tokens"), queries)},
                           {"prefix_cache_hits", of("prefix_hit_tokens")},
                           {"prefix_cache_queries", queries}}},
                {"kv_cache", JsonPairs{{"gpu_usage_pct", most("kv_usage")},
                                       {"cpu_usage_pct", most("host_kv_usage")}}},
                {"tokens", JsonPairs{{"prompt_total", of("prompt_tokens")},
                                     {"generation_total", of("generated_tokens")}}}});
}

std::string inferencex_row(const TableRun& run, const std::string& view) {
    const ParsedJson seen(view);
    CHECK(seen.root.present());
    const JsonValue accounting = seen.root.find("request_accounting");
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (const Provenance& one : provenance) {
        put_one(json, run, one);
    }
    put(json, {{"num_requests_total", accounting.find("records_total")},
               {"num_requests_successful", accounting.find("records_profiled")},
               {"request_accounting", accounting}});
    for (const Provenance& one : shape) {
        put_one(json, run, one);
    }
    const JsonValue metrics = seen.root.find("request_metrics");
    json.key("request_metrics")
        .raw(with_members(metrics,
                          {{"throughput", throughput_text(run, metrics.find("throughput"))}}));
    put_server_metrics(json.key("server_metrics"), run.summary->root().find("server"));
    json.end_object();
    return text;
}

/// What a tool has of each run that counts, of its own view; nothing where one cannot be read.
/// Memory: as read_viewed_run (cmd/report/report.hpp), of one run at a time.
static std::vector<std::string> rows_of(
    const ManyRuns& table, ViewResult (*view)(const ViewedRun& run),
    std::string (*row)(const TableRun& run, const std::string& view), std::string& why) {
    std::vector<std::string> rows;
    for (const TableRun& run : table.runs) {
        if (!run.counts()) {
            continue;
        }
        ViewedRun viewed;
        why = with_reported(run, [&viewed](const ReportedRun& reported) {
            return read_viewed_run(reported, viewed);
        });
        if (!why.empty()) {
            return {};
        }
        rows.push_back(row(run, view(viewed).json));
    }
    return rows;
}

std::string inferencex_rows(const ManyRuns& table, std::string& why) {
    const std::vector<std::string> rows = rows_of(table, inferencex_view, inferencex_row, why);
    std::string text = (rows.empty() ? "[" : "[\n") + joined(rows, ",\n") + "\n]\n";
    escape_unprintable_json(text, 0);
    return text;
}

/// Who the run was: `eid` is the experiment, `description` the cell.
static std::string run_text(const TableRun& run, JsonValue seen) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("uid").raw(seen.find("uid").raw());
    if (!run.sweep.empty()) {
        json.key("eid").string(run.sweep.substr(run.sweep.rfind('/') + 1));
    }
    json.key("time").raw(seen.find("time").raw());
    std::vector<std::string> keywords;
    for (const CellValue& one : run.labels) {
        keywords.push_back(one.text());
    }
    for (const CellValue& one : run.values) {
        if (!run.label(one.name)) {  // a sweep labels its runs with the values of its flags
            keywords.push_back(one.text());
        }
    }
    put(json, {{"description", run.cell.empty() ? run.name : run.cell}, {"keywords", keywords}});
    json.end_object();
    return text;
}

std::string llmd_report(const TableRun& run, const std::string& view) {
    const ParsedJson seen(view);
    CHECK(seen.root.present());
    return with_members(seen.root, {{"run", run_text(run, seen.root.find("run"))}});
}

std::string llmd_reports(const ManyRuns& table, std::string& why) {
    const std::vector<std::string> reports = rows_of(table, llmd_view, llmd_report, why);
    std::string text = joined(reports, ",\n");
    escape_unprintable_json(text, 0);
    return reports.size() == 1 ? text + "\n" : "[\n" + text + "\n]\n";
}

}  // namespace driftless
