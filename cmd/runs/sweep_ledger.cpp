#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/base/files.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/sweep.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

// Members of summary.json that go into sweep.json as they are.
constexpr std::array<std::string_view, 41> kept_keys{"num_prompts",
                                                     "completed",
                                                     "failed",
                                                     "duration",
                                                     "total_input_tokens",
                                                     "total_output_tokens",
                                                     "request_rate",
                                                     "sent_rate",
                                                     "request_throughput",
                                                     "request_goodput",
                                                     "output_throughput",
                                                     "total_token_throughput",
                                                     "max_concurrent_requests",
                                                     "mean_ttft_ms",
                                                     "median_ttft_ms",
                                                     "p90_ttft_ms",
                                                     "p95_ttft_ms",
                                                     "p99_ttft_ms",
                                                     "mean_tpot_ms",
                                                     "median_tpot_ms",
                                                     "p90_tpot_ms",
                                                     "p95_tpot_ms",
                                                     "p99_tpot_ms",
                                                     "mean_itl_ms",
                                                     "median_itl_ms",
                                                     "p90_itl_ms",
                                                     "p95_itl_ms",
                                                     "p99_itl_ms",
                                                     "mean_e2el_ms",
                                                     "median_e2el_ms",
                                                     "p90_e2el_ms",
                                                     "p95_e2el_ms",
                                                     "p99_e2el_ms",
                                                     "tainted_rows",
                                                     "censored",
                                                     "unfinished",
                                                     "outcomes",
                                                     "cache",
                                                     "warm_cache",
                                                     "thresholds",
                                                     "stopped_when"};

void write_hook(JsonWriter& json, std::string_view key, const SweepHook& hook) {
    json.key(key).begin_object();
    write_optional_text(json, "command", hook.command);
    json.key("limit_ns").integer(hook.limit_ns);
    json.end_object();
}

void write_plan(JsonWriter& json, const SweepPlan& plan) {
    json.key("plan").begin_object();
    json.key("home").string(plan.home);
    write_kept_traces(json, plan.traces);
    write_texts(json, "arguments", plan.arguments);
    json.key("over").begin_array();
    for (const SweepAxis& axis : plan.axes) {
        json.begin_object();
        json.key("name").string(axis.name);
        write_texts(json, "values", axis.values);
        json.key("of_server").boolean(axis.of_server);
        json.end_object();
    }
    json.end_array();
    json.key("repeat").unsigned_integer(plan.repeat);
    json.key("labels").begin_array();
    for (const auto& [name, value] : plan.labels) {
        json.begin_array().string(name).string(value).end_array();
    }
    json.end_array();
    json.key("hooks").begin_object();
    write_hook(json, "before", plan.before);
    write_hook(json, "ready", plan.ready);
    write_hook(json, "after", plan.after);
    json.end_object();
    json.key("idle_limit_ns").integer(plan.idle_limit_ns);
    json.key("salted").boolean(plan.salted);
    json.end_object();
}

const char* state_text(const LedgerCell& cell) {
    return cell.state == CellState::pending   ? "pending"
           : cell.state == CellState::running ? "running"
                                              : name_of(cell.outcome);
}

void write_cell(JsonWriter& json, const LedgerCell& cell) {
    json.begin_object();
    json.key("name").string(cell.planned.name);
    json.key("values").begin_object();
    for (const CellValue& one : cell.planned.values) {
        json.key(one.name).string(one.value);
    }
    json.end_object();
    json.key("repeat").unsigned_integer(cell.planned.repeat);
    json.key("run").string(cell.planned.folder);
    json.key("outcome").string(state_text(cell));
    write_optional_text(json, "why", cell.why);
    write_optional_text(json, "note", cell.note);
    json.key("warm");
    cell.warm ? json.boolean(*cell.warm) : json.null();
    json.key("exit_code");
    cell.exit_code ? json.integer(*cell.exit_code) : json.null();
    write_optional_text(json, "began", cell.began);
    write_optional_text(json, "verdict", cell.verdict);
    json.key("summary");
    cell.summary.empty() ? json.null() : json.raw(cell.summary);
    write_texts(json, "cut", cell.cut_folders);
    json.end_object();
}

SweepHook read_hook(JsonValue hook) {
    return {kept_text(hook.find("command")), hook.find("limit_ns").as_i64().value_or(0)};
}

SweepPlan read_plan(JsonValue json) {
    SweepPlan plan;
    plan.home = kept_text(json.find("home"));
    plan.traces = read_kept_traces(json.find("traces"));
    plan.arguments = texts_of(json.find("arguments"));
    for (JsonValue one = json.find("over").first(); one.present(); one = one.next()) {
        plan.axes.push_back({kept_text(one.find("name")), texts_of(one.find("values")),
                             one.find("of_server").as_bool().value_or(false)});
    }
    plan.repeat = json.find("repeat").as_u64().value_or(1);
    for (JsonValue one = json.find("labels").first(); one.present(); one = one.next()) {
        plan.labels.emplace_back(kept_text(one.at(0)), kept_text(one.at(1)));
    }
    plan.before = read_hook(json.find("hooks").find("before"));
    plan.ready = read_hook(json.find("hooks").find("ready"));
    plan.after = read_hook(json.find("hooks").find("after"));
    plan.idle_limit_ns = json.find("idle_limit_ns").as_i64().value_or(0);
    plan.salted = json.find("salted").as_bool().value_or(false);
    return plan;
}

/// False: an outcome of another version.
bool read_cell(JsonValue json, LedgerCell& cell) {
    const std::string state = kept_text(json.find("outcome"));
    cell.state = state == "pending"   ? CellState::pending
                 : state == "running" ? CellState::running
                                      : CellState::ended;
    bool known = cell.state != CellState::ended;
    for (const CellOutcome one :
         {CellOutcome::completed, CellOutcome::threshold, CellOutcome::spoiled, CellOutcome::failed,
          CellOutcome::interrupted}) {
        if (state == name_of(one)) {
            cell.outcome = one;
            known = true;
        }
    }
    cell.why = kept_text(json.find("why"));
    cell.note = kept_text(json.find("note"));
    cell.warm = json.find("warm").as_bool();
    if (const std::optional<std::int64_t> code = json.find("exit_code").as_i64(); code) {
        cell.exit_code = static_cast<int>(*code);
    }
    cell.began = kept_text(json.find("began"));
    cell.verdict = kept_text(json.find("verdict"));
    const JsonValue summary = json.find("summary");
    cell.summary = summary.is(JsonType::object) ? std::string(summary.raw()) : "";
    cell.cut_folders = texts_of(json.find("cut"));
    return known && kept_text(json.find("run")) == cell.planned.folder;
}

/// A run that --stop-when ended has the figures of a part of the trace.
bool was_stopped(const LedgerCell& cell) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(cell.summary);
    return root && root.value().find("stopped_when").is(JsonType::object);
}

}  // namespace

bool is_averaged(const LedgerCell& cell) {
    const bool whole =
        cell.outcome == CellOutcome::completed || cell.outcome == CellOutcome::threshold;
    return cell.state == CellState::ended && whole && !cell.warm.value_or(false) &&
           !cell.summary.empty() && !was_stopped(cell);
}

std::string kept_figures(const CellSummary& summary) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (const std::string_view key : kept_keys) {
        if (const JsonValue value = summary.root().find(key); value.present()) {
            json.key(key).raw(value.raw());
        }
    }
    json.end_object();
    return text;
}

Ledger new_ledger(const SweepPlan& plan) {
    Ledger ledger{plan, {}};
    for (PlannedCell& cell : plan_cells(plan)) {
        ledger.cells.push_back({});
        ledger.cells.back().planned = std::move(cell);
    }
    return ledger;
}

std::string sweep_json(const Ledger& ledger) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(sweep_schema);
    write_plan(json, ledger.plan);
    json.key("cells").begin_array();
    for (const LedgerCell& cell : ledger.cells) {
        write_cell(json, cell);
    }
    json.end_array();
    write_averages(json, averages_of(ledger));
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

std::string read_ledger(const std::string& text, Ledger& out) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    if (!root) {
        return "is not JSON; start a new sweep";
    }
    if (root.value().find("schema").as_i64() != sweep_schema) {
        return "was written by another version of driftless; use that one";
    }
    const SweepPlan plan = read_plan(root.value().find("plan"));
    if (const std::string why = check_plan(plan); !why.empty()) {
        return "has an invalid plan: " + why;
    }
    out = new_ledger(plan);
    const JsonValue cells = root.value().find("cells");
    JsonValue one = cells.first();
    bool same = cells.size() == out.cells.size();
    for (std::size_t i = 0; same && i < out.cells.size(); ++i, one = one.next()) {
        same = read_cell(one, out.cells[i]);
    }
    return same ? "" : "has cells that do not match its plan; start a new sweep";
}

Result<void> write_ledger(const Ledger& ledger, const std::string& folder) {
    const Result<void> csv = write_whole_file(folder + "/sweep.csv", sweep_csv(ledger));
    const Result<void> json = write_whole_file(folder + "/sweep.json", sweep_json(ledger));
    return csv ? json : csv;
}

namespace {

constexpr std::array keys{
    "duration",     "request_throughput", "output_throughput", "total_token_throughput",
    "mean_ttft_ms", "median_ttft_ms",     "p90_ttft_ms",       "p99_ttft_ms",
    "mean_tpot_ms", "median_tpot_ms",     "p90_tpot_ms",       "p99_tpot_ms",
    "mean_e2el_ms", "median_e2el_ms",     "p90_e2el_ms",       "p99_e2el_ms"};

/// The mean over the cells that have it: null in any of them makes it unknown.
std::optional<double> mean_of(const std::vector<std::string>& summaries, std::string_view key) {
    double sum = 0;
    JsonDocument document;
    for (const std::string& summary : summaries) {
        const Result<JsonValue> root = document.parse(summary);
        const std::optional<double> value =
            root ? root.value().find(key).as_double() : std::nullopt;
        if (!value) {
            return std::nullopt;
        }
        sum += *value;
    }
    return summaries.empty() ? std::nullopt
                             : std::optional(sum / static_cast<double>(summaries.size()));
}

Average average_of(const Ledger& ledger, const PlannedCell& first) {
    Average average;
    average.name = first.name;
    average.values = first.values;
    std::vector<std::string> summaries;
    for (const LedgerCell& cell : ledger.cells) {
        if (cell.planned.name != first.name) {
            continue;
        }
        const bool well =
            cell.state == CellState::ended &&
            (cell.outcome == CellOutcome::completed || cell.outcome == CellOutcome::threshold);
        if (is_averaged(cell)) {
            summaries.push_back(cell.summary);
        } else {
            ++(well && cell.warm.value_or(false) ? average.warm : average.others);
        }
    }
    average.averaged = summaries.size();
    for (const char* const key : keys) {
        average.figures.push_back({key, mean_of(summaries, key)});
    }
    return average;
}

}  // namespace

std::optional<double> Average::figure(std::string_view key) const {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [key](const AveragedFigure& one) { return one.key == key; });
    return found == figures.end() ? std::nullopt : found->mean;
}

std::vector<Average> averages_of(const Ledger& ledger) {
    std::vector<Average> averages;
    for (const LedgerCell& cell : ledger.cells) {
        if (cell.planned.repeat == 1) {
            averages.push_back(average_of(ledger, cell.planned));
        }
    }
    return averages;
}

void write_averages(JsonWriter& json, const std::vector<Average>& averages) {
    json.key("averages").begin_array();
    for (const Average& one : averages) {
        json.begin_object();
        json.key("values").begin_object();
        for (const CellValue& value : one.values) {
            json.key(value.name).string(value.value);
        }
        json.end_object();
        json.key("cells").unsigned_integer(one.averaged);
        json.key("left_out_warm").unsigned_integer(one.warm);
        json.key("left_out_others").unsigned_integer(one.others);
        json.key("means").begin_object();
        for (const AveragedFigure& figure : one.figures) {
            json.key(figure.key);
            figure.mean ? json.number(*figure.mean) : json.null();
        }
        json.end_object().end_object();
    }
    json.end_array();
}

// sweep.csv: a line per cell; columns as sweeps of other tools have them, and ours behind.

namespace {

struct CsvColumn {
    const char* name;
    const char* key;  ///< in `summary`
};
constexpr std::array csv_columns{CsvColumn{"num_requests", "num_prompts"},
                                 CsvColumn{"throughput_rps", "request_throughput"},
                                 CsvColumn{"input_throughput_tps", nullptr},
                                 CsvColumn{"output_throughput_tps", "output_throughput"},
                                 CsvColumn{"total_throughput_tps", "total_token_throughput"},
                                 CsvColumn{"mean_ttft_ms", "mean_ttft_ms"},
                                 CsvColumn{"p50_ttft_ms", "median_ttft_ms"},
                                 CsvColumn{"p90_ttft_ms", "p90_ttft_ms"},
                                 CsvColumn{"p99_ttft_ms", "p99_ttft_ms"},
                                 CsvColumn{"mean_tpot_ms", "mean_tpot_ms"},
                                 CsvColumn{"p50_tpot_ms", "median_tpot_ms"},
                                 CsvColumn{"p90_tpot_ms", "p90_tpot_ms"},
                                 CsvColumn{"p99_tpot_ms", "p99_tpot_ms"},
                                 CsvColumn{"mean_latency_ms", "mean_e2el_ms"},
                                 CsvColumn{"p50_latency_ms", "median_e2el_ms"},
                                 CsvColumn{"p90_latency_ms", "p90_e2el_ms"},
                                 CsvColumn{"p99_latency_ms", "p99_e2el_ms"},
                                 CsvColumn{"completed", "completed"},
                                 CsvColumn{"failed", "failed"},
                                 CsvColumn{"duration_s", "duration"}};

/// Input tokens of whole answers, by the same duration as the other rates.
std::string input_rate(JsonValue summary) {
    const double tokens = summary.find("total_input_tokens").as_double().value_or(0);
    const double duration = summary.find("duration").as_double().value_or(0);
    if (duration <= 0) {
        return "";
    }
    char text[64];
    (void)std::snprintf(text, sizeof text, "%.17g", tokens / duration);
    return text;
}

std::string value_of(JsonValue summary, const CsvColumn& column) {
    if (column.key == nullptr) {
        return input_rate(summary);
    }
    const JsonValue value = summary.find(column.key);
    return value.is(JsonType::number) ? std::string(value.raw()) : "";
}

void add_line(const LedgerCell& cell, std::string& out) {
    for (const CellValue& one : cell.planned.values) {
        append_csv_field(out, one.value);
        out += ',';
    }
    const bool ended = cell.state == CellState::ended;
    out += std::to_string(cell.planned.repeat) + ",";
    append_csv_field(out, cell.planned.folder);
    out += std::string(",") + (ended ? name_of(cell.outcome) : "pending") + "," +
           (cell.warm ? *cell.warm ? "true" : "false" : "") + "," + cell.verdict;
    JsonDocument document;
    const Result<JsonValue> summary = document.parse(cell.summary.empty() ? "{}" : cell.summary);
    for (const CsvColumn& column : csv_columns) {
        out += ",";
        out += summary ? value_of(summary.value(), column) : "";
    }
    out += ",";
    append_csv_field(out, cell.why);
    out += csv_line_end;
}

}  // namespace

std::string sweep_csv(const Ledger& ledger) {
    std::string out;
    for (const SweepAxis& axis : ledger.plan.axes) {
        append_csv_field(out, axis.name);
        out += ',';
    }
    out += "repeat,run,status,warm,verdict";
    for (const CsvColumn& column : csv_columns) {
        out += std::string(",") + column.name;
    }
    out += ",why";
    out += csv_line_end;
    for (const LedgerCell& cell : ledger.cells) {
        add_line(cell, out);
    }
    return out;
}

namespace {

struct Column {
    const char* head;
    const char* key;
};
constexpr std::array columns{
    Column{"req/s", "request_throughput"}, Column{"out tok/s", "output_throughput"},
    Column{"TTFT p50", "median_ttft_ms"},  Column{"p99 ms", "p99_ttft_ms"},
    Column{"TPOT p50", "median_tpot_ms"},  Column{"p99 ms", "p99_tpot_ms"},
    Column{"E2E p99", "p99_e2el_ms"}};
constexpr std::size_t name_columns_max = 40;

std::string number(std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string key_figures(const LedgerCell& cell) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(cell.summary.empty() ? "{}" : cell.summary);
    const auto of = [&root](std::string_view key) {
        return root ? root.value().find(key).as_double() : std::nullopt;
    };
    return cell.summary.empty()
               ? ""
               : fmt::format(", {} req/s, TTFT p99 {} ms", number(of("request_throughput")),
                             number(of("p99_ttft_ms")));
}

std::size_t name_width(const std::vector<Average>& averages) {
    std::size_t width = 4;
    for (const Average& one : averages) {
        width = std::max(width, std::min(one.name.size(), name_columns_max));
    }
    return width;
}

std::string row_of(const Average& one, std::size_t width) {
    std::string row = fmt::format("{:<{}} {:>5}", one.name, width, one.averaged);
    for (const Column& column : columns) {
        row += fmt::format(" {:>9}", number(one.figure(column.key)));
    }
    return row + "\n";
}

}  // namespace

std::string cell_begins(const Ledger& ledger, std::size_t index) {
    const PlannedCell& planned = ledger.cells[index].planned;
    const std::string repeat =
        ledger.plan.repeat > 1 ? fmt::format(" (repeat {})", planned.repeat) : "";
    return fmt::format("cell {} of {}  {}{}: ", index + 1, ledger.cells.size(), planned.name,
                       repeat);
}

std::string cell_ends(const LedgerCell& cell) {
    std::string line = name_of(cell.outcome) + key_figures(cell);
    if (cell.warm.value_or(false)) {
        line += ", began with a warm cache (not averaged)";
    }
    line += cell.why.empty() ? "" : ": " + cell.why;
    line += cell.note.empty() ? "" : "; " + cell.note;
    return line + "\n";
}

std::string sweep_table(const Ledger& ledger) {
    const std::vector<Average> averages = averages_of(ledger);
    const std::size_t width = name_width(averages);
    std::string text = fmt::format("\n{:<{}} {:>5}", "cell", width, "runs");
    for (const Column& column : columns) {
        text += fmt::format(" {:>9}", column.head);
    }
    text += "\n";
    std::size_t warm = 0;
    for (const Average& one : averages) {
        text += row_of(one, width);
        warm += one.warm;
    }
    if (ledger.plan.repeat > 1) {
        text += "Each row is the mean over the runs of a cell.\n";
    }
    if (warm > 0) {
        text += fmt::format(
            "{} of {} cells began with a warm cache and are left out: their TTFT is too low. "
            "Restart the server (--before), or pass --reset-cache to replay, or --cache-salt "
            "random "
            "if its prompts are not recorded text.\n",
            warm, ledger.cells.size());
    }
    for (const LedgerCell& cell : ledger.cells) {
        const bool odd = cell.state == CellState::ended && cell.outcome != CellOutcome::completed;
        if (odd) {
            text +=
                fmt::format("{}: {}: {}\n", cell.planned.folder, name_of(cell.outcome), cell.why);
        }
    }
    return text;
}

}  // namespace driftless
