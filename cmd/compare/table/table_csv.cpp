#include "cmd/compare/table/table_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/compare/table/run_keys.hpp"
#include "proto/core/check.hpp"
#include "proto/export/csv.hpp"

namespace driftless {

namespace {

struct Column {
    const char* name;
    const char* figure;
};
/// As InferenceX names and counts them.
constexpr std::array theirs{
    Column{"num_requests", "completed"},
    Column{"throughput_rps", "request_throughput"},
    Column{"input_throughput_tps", "input_throughput"},
    Column{"output_throughput_tps", "output_throughput"},
    Column{"total_throughput_tps", "total_token_throughput"},
    Column{"mean_ttft_ms", "ttft:mean"},
    Column{"p50_ttft_ms", "ttft:p50"},
    Column{"p90_ttft_ms", "ttft:p90"},
    Column{"p99_ttft_ms", "ttft:p99"},
    Column{"mean_tpot_ms", "tpot:mean"},
    Column{"p50_tpot_ms", "tpot:p50"},
    Column{"p90_tpot_ms", "tpot:p90"},
    Column{"p99_tpot_ms", "tpot:p99"},
    Column{"mean_latency_ms", "e2e:mean"},
    Column{"p50_latency_ms", "e2e:p50"},
    Column{"p90_latency_ms", "e2e:p90"},
    Column{"p99_latency_ms", "e2e:p99"},
};
constexpr std::array ours{
    Column{"failed", "failed"},
    Column{"errors", "errors"},
    Column{"tainted", "tainted"},
    Column{"hits", "hits"},
    Column{"request_goodput", "request_goodput"},
    Column{"p99.9_ttft_ms", "ttft:p99.9"},
    Column{"p99.9_tpot_ms", "tpot:p99.9"},
    Column{"p99.9_latency_ms", "e2e:p99.9"},
    Column{"interactivity_p50", "interactivity:p50"},
    Column{"interactivity_p90", "interactivity:p90"},
    Column{"interactivity_p99", "interactivity:p99"},
    Column{"joules_per_token", "joules_per_token"},
};

std::optional<CellFigure> figure_in(const ManyRuns& table, const RunCell& cell, const char* name) {
    const Result<TableFigure> figure = parse_table_figure(name);
    CHECK(figure);
    return figure_of(table, cell, figure.value());
}

/// Fields of one line.
class Line {
  public:
    explicit Line(std::string& out) : out_(out) {}
    void add(std::string_view text) {
        out_ += first_ ? "" : ",";
        append_csv_field(out_, text);
        first_ = false;
    }
    void add(const std::optional<double>& value) {
        add(value ? fmt::format("{}", *value) : std::string());
    }
    void end() { out_ += csv_line_end; }

  private:
    std::string& out_;
    bool first_ = true;
};

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

/// One of InferenceX's names of a cell: an axis or label of that name, or `--users`.
std::string theirs_of(const ManyRuns& table, const RunCell& cell, const char* name) {
    return value_of(table, cell, name);
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

void add_head(const ManyRuns& table, Line line) {
    for (const std::string& column : table.columns) {
        line.add(column);
    }
    for (const char* name : {"exp_name", "tp", "users", "offload", "status"}) {
        if (std::find(table.columns.begin(), table.columns.end(), name) == table.columns.end()) {
            line.add(name);
        }
    }
    for (const Column& column : theirs) {
        line.add(column.name);
    }
    line.add("gpu_hit_rate");
    line.add("cpu_hit_rate");
    for (const char* name : {"outcome", "verdict", "runs"}) {
        line.add(name);
    }
    for (const Column& column : ours) {
        line.add(column.name);
    }
    for (const Column& column : theirs) {
        line.add(std::string("low_") + column.name);
        line.add(std::string("high_") + column.name);
    }
    line.add("folders");
    line.add("left_out");
    line.end();
}

void add_names(const ManyRuns& table, const RunCell& cell, Line& line) {
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
            line.add(theirs_of(table, cell, name));
        }
    }
    if (!is_column("status")) {
        line.add(cell.counts ? "SUCCESS" : "FAILED");
    }
}

void add_cell(const ManyRuns& table, const RunCell& cell, Line line) {
    add_names(table, cell, line);
    for (const Column& column : theirs) {
        const std::optional<CellFigure> value = figure_in(table, cell, column.figure);
        line.add(value ? std::optional(value->mean) : std::nullopt);
    }
    line.add(tier_rate(table, cell, "prefix_hit_tokens"));
    line.add(tier_rate(table, cell, "host_hit_tokens"));
    line.add(outcomes_of(table, cell));
    line.add(cell.shown.empty() ? "" : table.runs[cell.shown.front()].summary->verdict());
    line.add(std::to_string(cell.shown.size()));
    for (const Column& column : ours) {
        const std::optional<CellFigure> value = figure_in(table, cell, column.figure);
        line.add(value ? std::optional(value->mean) : std::nullopt);
    }
    for (const Column& column : theirs) {
        const std::optional<CellFigure> value = figure_in(table, cell, column.figure);
        line.add(value ? std::optional(value->low) : std::nullopt);
        line.add(value ? std::optional(value->high) : std::nullopt);
    }
    line.add(folders_of(table, cell));
    line.add(why_of(table, cell));
    line.end();
}

}  // namespace

std::string table_csv(const ManyRuns& table) {
    std::string out;
    add_head(table, Line(out));
    for (const RunCell& cell : table.cells) {
        add_cell(table, cell, Line(out));
    }
    return out;
}

}  // namespace driftless
