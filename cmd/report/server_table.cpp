#include "cmd/report/server_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "cmd/scrape/mapping_file.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/scrape/scraped_pages.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

namespace {

/// In the order of the enum.
constexpr std::array<std::string_view, server_figures> units{
    "",       "",       "requests", "requests", "W",      "requests", "tokens",
    "tokens", "tokens", "tokens",   "tokens",   "tokens", "tokens",   "",
    "bytes",  "bytes",  "s",        "s",        "tokens", "tokens"};

ServerInstant instant_of(const ScrapedPages& pages, std::int64_t t_ns) {
    ServerInstant row{t_ns, pages.segment(), {}};
    for (std::size_t i = 0; i < server_figures; ++i) {
        row.figures[i] = figure_of_all(pages.endpoints(), static_cast<ServerFigure>(i));
    }
    return row;
}

PageColumn column_named(std::string name, std::string_view unit) {
    Figure figure;
    figure.name = std::move(name);
    figure.unit = unit;
    figure.holds_numbers = true;
    return PageColumn(figure);
}

std::vector<PageColumn> columns_of(const std::vector<ServerInstant>& rows) {
    std::vector<PageColumn> columns;
    columns.push_back(column_named("t_ns", "ns"));
    columns.push_back(column_named("segment", ""));
    for (std::size_t i = 0; i < server_figures; ++i) {
        columns.push_back(column_named(name_of(static_cast<ServerFigure>(i)), units[i]));
    }
    const std::size_t stride = rows.size() / server_instants_max + 1;
    for (std::size_t at = 0; at < rows.size(); at += stride) {
        columns[0].add({CellKind::number, fmt::format("{}", rows[at].t_ns)});
        columns[1].add({CellKind::number, fmt::format("{}", rows[at].segment)});
        for (std::size_t i = 0; i < server_figures; ++i) {
            const std::optional<double> value = rows[at].figures[i];
            columns[i + 2].add(value ? TableCell{CellKind::number, fmt::format("{}", *value)}
                                     : TableCell{});
        }
    }
    return columns;
}

}  // namespace

Result<std::vector<ServerInstant>> read_server_instants(const std::string& path, std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    const std::vector<EngineMapping> mappings = known_mappings();
    ScrapedPages pages(mappings);
    std::vector<ServerInstant> rows;
    JsonDocument document;
    while (const std::optional<std::string_view> text = lines.value().next()) {
        const Result<ServerLine> line = read_server_line(document, *text);
        if (!line) {
            why = describe_line(path, lines.value().number(), line.error());
            return line.error();
        }
        (void)pages.add(line.value());
        const auto* const scrape = std::get_if<ServerScrape>(&line.value());
        if (scrape != nullptr && scrape->error.empty()) {
            rows.push_back(instant_of(pages, scrape->t_ns));
        }
    }
    if (lines.value().error()) {
        why = lines.value().why();
        return *lines.value().error();
    }
    if (std::any_of(pages.endpoints().begin(), pages.endpoints().end(),
                    [](const EndpointFigures& one) { return one.is_several(); })) {
        for (ServerInstant& row : rows) {  // also of the pages before that was seen
            row.figures.fill(std::nullopt);
        }
    }
    return rows;
}

Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why) {
    const Result<std::vector<ServerInstant>> rows = read_server_instants(path, why);
    if (!rows) {
        return rows.error();
    }
    return columns_of(rows.value());
}

}  // namespace driftless
