#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cmd/base/run_folder.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

/// What a view needs of the sums: the summary has them, so that the records are read once.
SummaryFigures figures_in(JsonValue summary) {
    SummaryFigures figures;
    figures.duration_ns =
        std::llround(summary.find("duration").as_double().value_or(0) * 1'000'000'000);
    return figures;
}

/// Gives what `use` makes of the run as the readers of reports want it. Returns why the run cannot
/// be read, or what `use` returns.
template <typename Use>
std::string with_reported(const TableRun& run, Use use) {
    RunFacts facts;
    if (std::string why = read_run(run.folder, facts); !why.empty()) {
        return why;
    }
    const SummaryFigures figures = figures_in(run.summary->root());
    return use(ReportedRun{run.folder, facts, figures, facts.info, ""});
}

std::string read_one(TableRun& run) {
    constexpr double one_ms_ns = 1e6;
    Sample sample;
    std::string why = with_reported(run, [&sample](const ReportedRun& reported) {
        return each_record(reported, [&sample](const Record& record) {
            const bool counts = record.phase == Phase::profile && record.outcome == Outcome::ok &&
                                record.e2e_ns && counts_output(record) && *record.output_tokens > 0;
            if (counts) {
                sample.add(static_cast<double>(*record.e2e_ns) / one_ms_ns /
                           static_cast<double>(*record.output_tokens));
            }
        });
    });
    run.e2e_per_token = sample.distribution();
    return why;
}

}  // namespace

std::string view_run(const TableRun& run, ViewedRun& out) {
    return with_reported(
        run, [&out](const ReportedRun& reported) { return read_viewed_run(reported, out); });
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

/// "p99_ttft_ms" of ttft:p99, "interactivity_p50" of interactivity:p50. Their word of E2E is
/// latency.
std::string column_name(const TableFigure& figure) {
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
const std::vector<Column>& theirs() {
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
const std::vector<Column>& ours() {
    static const std::vector<Column> columns = [] {
        std::vector<Column> all;
        for (const TableFigure& figure : table_figures()) {
            if (std::ranges::none_of(theirs(), [&figure](const Column& one) {
                    return one.figure.name == figure.name;
                })) {
                all.push_back({column_name(figure), figure});
            }
        }
        return all;
    }();
    return columns;
}

std::string digits(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
}

/// Percent of looked-up prompt tokens that the server's own counters say were hits of a tier.
std::optional<double> tier_rate(const ManyRuns& table, const RunCell& cell, const char* hits) {
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
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

std::string folders_of(const ManyRuns& table, const RunCell& cell) {
    std::string text;
    for (const std::size_t index : cell.shown) {
        text += (text.empty() ? "" : " ") + table.runs[index].folder;
    }
    return text;
}

std::string outcomes_of(const ManyRuns& table, const RunCell& cell) {
    std::string text;
    for (const std::size_t index : cell.counts ? cell.shown : cell.runs) {
        const std::string& outcome = table.runs[index].outcome;
        if (text.find(outcome) == text.npos) {
            text += (text.empty() ? "" : " ") + outcome;
        }
    }
    return text;
}

std::string why_of(const ManyRuns& table, const RunCell& cell) {
    std::string text;
    for (const std::size_t index : cell.runs) {
        const std::string& why = table.runs[index].left_out;
        text += (text.empty() || why.empty() ? "" : "; ") + why;
    }
    return text;
}

void add_head(const ManyRuns& table, CsvLines& line) {
    for (const std::string& column : table.columns) {
        line.add(column);
    }
    for (const char* name : {"exp_name", "tp", "users", "offload", "status"}) {
        if (std::find(table.columns.begin(), table.columns.end(), name) == table.columns.end()) {
            line.add(name);
        }
    }
    for (const Column& column : theirs()) {
        line.add(column.name);
    }
    line.add("gpu_hit_rate");
    line.add("cpu_hit_rate");
    for (const char* name : {"outcome", "verdict", "runs"}) {
        line.add(name);
    }
    for (const Column& column : ours()) {
        line.add(column.name);
    }
    for (const Column& column : theirs()) {
        line.add("low_" + column.name);
        line.add("high_" + column.name);
    }
    line.add("folders");
    line.add("left_out");
    line.end();
}

void add_names(const ManyRuns& table, const RunCell& cell, CsvLines& line) {
    const auto is_column = [&](const char* name) {
        return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
    };
    for (const std::string& value : cell.values) {
        line.add(value);
    }
    if (!is_column("exp_name")) {
        line.add(cell.name);
    }
    for (const char* name : {"tp", "users", "offload"}) {
        if (!is_column(name)) {
            line.add(value_of(table, cell, name));
        }
    }
    if (!is_column("status")) {
        line.add(cell.counts ? "SUCCESS" : "FAILED");
    }
}

void add_cell(const ManyRuns& table, const RunCell& cell, CsvLines& line) {
    add_names(table, cell, line);
    const auto add_means = [&](const std::vector<Column>& columns) {
        for (const Column& column : columns) {
            const std::optional<CellFigure> value = figure_of(table, cell, column.figure);
            line.add(value ? digits(value->mean) : "");
        }
    };
    add_means(theirs());
    line.add(digits(tier_rate(table, cell, "prefix_hit_tokens")));
    line.add(digits(tier_rate(table, cell, "host_hit_tokens")));
    line.add(outcomes_of(table, cell));
    line.add(cell.shown.empty() ? "" : table.runs[cell.shown.front()].summary->verdict());
    line.add(std::to_string(cell.shown.size()));
    add_means(ours());
    for (const Column& column : theirs()) {
        const std::optional<CellFigure> value = figure_of(table, cell, column.figure);
        line.add(value ? digits(value->low) : "");
        line.add(value ? digits(value->high) : "");
    }
    line.add(folders_of(table, cell));
    line.add(why_of(table, cell));
    line.end();
}

}  // namespace

std::string table_csv(const ManyRuns& table) {
    std::string out;
    CsvLines lines(out);
    add_head(table, lines);
    for (const RunCell& cell : table.cells) {
        add_cell(table, cell, lines);
    }
    return out;
}

namespace {

enum class Kind : std::uint8_t { text, integer, flag };
struct Provenance {
    const char* key;
    Kind kind;
};
/// In the order of their file, up to the number of requests.
constexpr std::array provenance{
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
constexpr std::array shape{Provenance{"pp", Kind::integer}, Provenance{"dcp_size", Kind::integer},
                           Provenance{"pcp_size", Kind::integer}};

/// A label or an axis of that name; of some what the run itself says.
std::string text_of(const TableRun& run, std::string_view key) {
    if (const std::optional<std::string> label = run.label(key)) {
        return *label;
    }
    if (has_value(run.values, key)) {
        return std::string(value_in(run.values, key));
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

void write_one(JsonWriter& json, const TableRun& run, const Provenance& one) {
    const std::string text = text_of(run, one.key);
    json.key(one.key);
    const auto number = read_number<std::int64_t>(text);
    if (one.kind == Kind::text && !text.empty()) {
        json.string(text);
    } else if (one.kind == Kind::integer && number) {
        json.integer(*number);
    } else if (one.kind == Kind::flag && !text.empty()) {
        json.boolean(text == "true" || text == "1" || text == "yes" || text == "on");
    } else {
        json.null();
    }
}

/// As the view has it, with what only labels know.
std::string throughput_text(const TableRun& run, JsonValue throughput) {
    const std::optional<double> gpus = gpus_of(run);
    if (!gpus) {
        return std::string(throughput.raw());
    }
    std::string per_gpu;
    JsonWriter json(per_gpu);
    json.begin_object();
    for (const char* side : {"total", "output", "input"}) {
        const std::optional<double> rate =
            throughput.find(side).find("tokens_per_second").as_double();
        json.key((std::string(side) + "_tput_tps"))
            .optional(rate ? std::optional(*rate / *gpus) : std::nullopt);
    }
    json.end_object();
    return with_members(throughput, {{"per_gpu", per_gpu}});
}

std::optional<double> quotient(JsonValue server, const char* part, const char* whole) {
    const std::optional<double> a = server.find(part).as_double();
    const std::optional<double> b = server.find(whole).as_double();
    return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

/// The parts of it that servers tell us under names that mean the same.
void write_server_metrics(JsonWriter& json, JsonValue server) {
    constexpr const char* queries = "prefix_query_tokens";
    json.key("server_metrics").begin_object();
    json.key("present").boolean(server.is(JsonType::object));
    json.key("cache").begin_object();
    json.key("gpu_cache_hit_rate").optional(quotient(server, "prefix_hit_tokens", queries));
    json.key("cpu_cache_hit_rate").optional(quotient(server, "host_hit_tokens", queries));
    json.key("external_cache_hit_rate").optional(quotient(server, "remote_hit_tokens", queries));
    json.key("prefix_cache_hits").optional(server.find("prefix_hit_tokens").as_double());
    json.key("prefix_cache_queries").optional(server.find(queries).as_double());
    json.end_object();
    json.key("kv_cache").begin_object();
    json.key("gpu_usage_pct").optional(server.find("kv_usage").find("max").as_double());
    json.key("cpu_usage_pct").optional(server.find("host_kv_usage").find("max").as_double());
    json.end_object();
    json.key("tokens").begin_object();
    json.key("prompt_total").optional(server.find("prompt_tokens").as_double());
    json.key("generation_total").optional(server.find("generated_tokens").as_double());
    json.end_object();
    json.end_object();
}

}  // namespace

std::string inferencex_row(const TableRun& run, const std::string& view) {
    const ParsedJson seen(view);
    CHECK(seen.root.present());
    const JsonValue accounting = seen.root.find("request_accounting");
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (const Provenance& one : provenance) {
        write_one(json, run, one);
    }
    json.key("num_requests_total").raw(accounting.find("records_total").raw());
    json.key("num_requests_successful").raw(accounting.find("records_profiled").raw());
    json.key("request_accounting").raw(accounting.raw());
    for (const Provenance& one : shape) {
        write_one(json, run, one);
    }
    const JsonValue metrics = seen.root.find("request_metrics");
    json.key("request_metrics")
        .raw(with_members(metrics,
                          {{"throughput", throughput_text(run, metrics.find("throughput"))}}));
    write_server_metrics(json, run.summary->root().find("server"));
    json.end_object();
    return text;
}

std::string inferencex_rows(const ManyRuns& table, std::string& why) {
    std::string text = "[";
    for (const TableRun& run : table.runs) {
        if (!run.counts()) {
            continue;
        }
        ViewedRun viewed;
        if (why = view_run(run, viewed); !why.empty()) {
            return "";
        }
        text +=
            (text.size() > 1 ? ",\n" : "\n") + inferencex_row(run, inferencex_view(viewed).json);
    }
    text += "\n]\n";
    escape_unprintable_json(text, 0);
    return text;
}

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
std::string run_text(const TableRun& run, JsonValue seen) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("uid").raw(seen.find("uid").raw());
    if (!run.sweep.empty()) {
        json.key("eid").string(run.sweep.substr(run.sweep.rfind('/') + 1));
    }
    json.key("time").raw(seen.find("time").raw());
    json.key("description").string(run.cell.empty() ? run.name : run.cell);
    write_keywords(json, run);
    json.end_object();
    return text;
}

}  // namespace

std::string llmd_report(const TableRun& run, const std::string& view) {
    const ParsedJson seen(view);
    CHECK(seen.root.present());
    return with_members(seen.root, {{"run", run_text(run, seen.root.find("run"))}});
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
