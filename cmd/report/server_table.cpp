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
#include "engine/scrape/endpoint_figures.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

namespace {

/// In the order of the enum.
constexpr std::array<std::string_view, server_figures> units{
    "",       "",       "requests", "requests", "W",      "requests", "tokens",
    "tokens", "tokens", "tokens",   "tokens",   "tokens", "tokens",   "",
    "bytes",  "bytes",  "s",        "s",        "tokens", "tokens"};

bool names_metric(const EngineMapping& mapping, std::string_view name) {
    constexpr std::string_view total = "_total";
    const std::string_view stem =
        name.ends_with(total) ? name.substr(0, name.size() - total.size()) : name;
    const auto is_it = [&](const std::string& metric) {
        return same_metric_name(name, metric) || same_metric_name(stem, metric);
    };
    return std::any_of(mapping.sources.begin(), mapping.sources.end(), [&](const auto& source) {
        return is_it(source.over) ||
               std::any_of(source.metrics.begin(), source.metrics.end(), is_it);
    });
}

/// The pages of one segment, put together again line by line.
class ServerPages {
  public:
    explicit ServerPages(std::span<const EngineMapping> mappings) : mappings_(mappings) {}

    /// What all pages say once this line is read; nothing for a line that is no whole page.
    std::optional<ServerInstant> add(const ServerLine& line) {
        if (const auto* const series = std::get_if<ServerSeries>(&line)) {
            begin(series->segment);
            if (series->series == series_.size()) {  // another number is not of a file of ours
                series_.push_back(
                    {*series, place_of(series->url), 0, false, is_used(series->name)});
            }
            return {};
        }
        const auto& scrape = std::get<ServerScrape>(line);
        begin(scrape.segment);
        return scrape.error.empty() ? std::optional(read(scrape)) : std::nullopt;
    }

  private:
    struct KnownSeries {
        ServerSeries line;
        std::size_t place = 0;
        double value = 0;
        bool present = false;
        bool used = true;  ///< some table of names may have it
    };

    void begin(std::uint32_t segment) {
        if (segment != segment_) {
            segment_ = segment;
            series_.clear();
            urls_.clear();
            endpoints_.clear();
        }
    }
    std::size_t place_of(const std::string& url) {
        const auto found = std::find(urls_.begin(), urls_.end(), url);
        if (found == urls_.end()) {
            urls_.push_back(url);
            endpoints_.emplace_back(mappings_);
            return urls_.size() - 1;
        }
        return static_cast<std::size_t>(found - urls_.begin());
    }
    /// Most series are in no table: without them an hour is read ten times as fast.
    bool is_used(std::string_view name) const {
        return std::any_of(mappings_.begin(), mappings_.end(),
                           [&](const EngineMapping& one) { return names_metric(one, name); });
    }
    ServerInstant read(const ServerScrape& scrape) {
        for (const ServerValue& one : scrape.changed) {
            if (one.series < series_.size()) {
                series_[one.series].present = one.value.has_value();
                series_[one.series].value = one.value.value_or(0);
            }
        }
        const std::size_t place = place_of(scrape.url);
        fill_page(place);
        endpoints_[place].add(page_);
        ServerInstant row{scrape.t_ns, scrape.segment, {}};
        for (std::size_t i = 0; i < server_figures; ++i) {
            row.figures[i] = figure_of_all(endpoints_, static_cast<ServerFigure>(i));
        }
        return row;
    }
    void fill_page(std::size_t place) {
        page_.clear();
        page_.families.resize(3);
        page_.families[0].type = MetricType::counter;
        page_.families[1].type = MetricType::gauge;
        page_.families[2].type = MetricType::unknown;
        for (const KnownSeries& one : series_) {
            if (!one.used || !one.present || one.place != place) {
                continue;
            }
            MetricSample& sample = page_.samples.emplace_back();
            sample.name = one.line.name;
            sample.family = one.line.counter ? 0 : one.line.type == "unknown" ? 2 : 1;
            sample.value = one.value;
            sample.labels_begin = static_cast<std::uint32_t>(page_.labels.size());
            sample.labels_count = static_cast<std::uint32_t>(one.line.labels.size());
            for (const auto& [name, value] : one.line.labels) {
                page_.labels.push_back({name, value});
            }
        }
    }

    std::span<const EngineMapping> mappings_;
    std::uint32_t segment_ = 0;
    std::vector<KnownSeries> series_;  ///< by number
    std::vector<std::string> urls_;
    std::vector<EndpointFigures> endpoints_;  ///< [urls]
    Exposition page_;
};

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
    ServerPages pages(mappings);
    std::vector<ServerInstant> rows;
    JsonDocument document;
    while (const std::optional<std::string_view> text = lines.value().next()) {
        const Result<ServerLine> line = read_server_line(document, *text);
        if (!line) {
            why = describe_line(path, lines.value().number(), line.error());
            return line.error();
        }
        if (const std::optional<ServerInstant> row = pages.add(line.value())) {
            rows.push_back(*row);
        }
    }
    if (lines.value().error()) {
        why = lines.value().why();
        return *lines.value().error();
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
