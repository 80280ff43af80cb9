#include "cmd/sweep/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "cmd/sweep/averages.hpp"

namespace driftless {

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
