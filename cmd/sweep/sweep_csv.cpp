// sweep.csv: a line per cell; columns as sweeps of other tools have them, and ours behind.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "cmd/sweep/ledger.hpp"
#include "proto/export/csv.hpp"

namespace driftless {

namespace {

struct Column {
    const char* name;
    const char* key;  ///< in `summary`
};
constexpr std::array columns{Column{"num_requests", "num_prompts"},
                             Column{"throughput_rps", "request_throughput"},
                             Column{"input_throughput_tps", nullptr},
                             Column{"output_throughput_tps", "output_throughput"},
                             Column{"total_throughput_tps", "total_token_throughput"},
                             Column{"mean_ttft_ms", "mean_ttft_ms"},
                             Column{"p50_ttft_ms", "median_ttft_ms"},
                             Column{"p90_ttft_ms", "p90_ttft_ms"},
                             Column{"p99_ttft_ms", "p99_ttft_ms"},
                             Column{"mean_tpot_ms", "mean_tpot_ms"},
                             Column{"p50_tpot_ms", "median_tpot_ms"},
                             Column{"p90_tpot_ms", "p90_tpot_ms"},
                             Column{"p99_tpot_ms", "p99_tpot_ms"},
                             Column{"mean_latency_ms", "mean_e2el_ms"},
                             Column{"p50_latency_ms", "median_e2el_ms"},
                             Column{"p90_latency_ms", "p90_e2el_ms"},
                             Column{"p99_latency_ms", "p99_e2el_ms"},
                             Column{"completed", "completed"},
                             Column{"failed", "failed"},
                             Column{"duration_s", "duration"}};

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

std::string value_of(JsonValue summary, const Column& column) {
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
    for (const Column& column : columns) {
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
    for (const Column& column : columns) {
        out += std::string(",") + column.name;
    }
    out += ",why";
    out += csv_line_end;
    for (const LedgerCell& cell : ledger.cells) {
        add_line(cell, out);
    }
    return out;
}

}  // namespace driftless
