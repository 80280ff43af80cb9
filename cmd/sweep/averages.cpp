#include "cmd/sweep/averages.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
