#include "cmd/base/server_metrics.hpp"

#include <utility>

#include "cmd/base/toml_reader.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/server_log.hpp"

namespace driftless {

static void read_source(const toml::table& table, TomlReader& reader, EngineMapping& out) {
    reader.check_keys(table, "[[figure]] ",
                      {"name", "metrics", "label", "values", "over", "scale"});
    FigureSource& source = out.sources.emplace_back();
    std::string name;
    std::optional<double> scale;
    reader.text(table, "name", name, true);
    reader.scalars(table, "metrics", source.metrics);
    reader.text(table, "label", source.label, false);
    reader.scalars(table, "values", source.values);
    reader.text(table, "over", source.over, false);
    reader.number(table, "scale", scale);
    source.scale = scale.value_or(1);
    const std::optional<ServerFigure> figure = from_name<ServerFigure>(name);
    if (!figure) {
        reader.fail(table, "[[figure]] name \"" + name +
                               "\" is not known; driftless help metrics.md lists all");
    } else if (source.metrics.empty()) {
        reader.fail(table, "[[figure]] " + name + ": metrics is missing");
    } else if (source.label.empty() != source.values.empty()) {
        reader.fail(table, "[[figure]] " + name + ": label needs values, and values need a label");
    } else {
        source.figure = *figure;
    }
}

std::string read_mapping(std::string_view text, EngineMapping& out) {
    toml::table whole;
    if (std::string why = parse_toml(text, whole); !why.empty()) {
        return why;
    }
    TomlReader reader;
    reader.check_keys(whole, "", {"engine", "prefixes", "ranks", "figure"});
    reader.text(whole, "engine", out.engine, true);
    reader.scalars(whole, "prefixes", out.prefixes);
    reader.scalars(whole, "ranks", out.ranks);
    if (out.prefixes.empty()) {
        reader.fail(whole, "prefixes is missing");
    }
    if (!whole.contains("figure")) {
        reader.fail(whole, "figure is not written as [[figure]]");
    }
    reader.tables(whole, "figure",
                  [&](const toml::table& table) { read_source(table, reader, out); });
    return reader.why();
}

std::vector<EngineMapping> known_mappings(std::vector<EngineMapping> own) {
    std::vector<EngineMapping> mappings = std::move(own);
    for (const ShippedMapping& one : shipped_mappings()) {
        CHECK(read_mapping(one.text, mappings.emplace_back()).empty());
    }
    return mappings;
}

std::optional<ServerTotals> read_totals(const std::string& folder,
                                        std::span<const EngineMapping> mappings,
                                        std::vector<MeasuredSpan> spans, std::string& why) {
    why.clear();
    ServerSums sums(mappings, std::move(spans));
    (void)each_server_line(folder + "/server.jsonl", why,
                           [&sums](const ServerLine& line) { sums.add(line); });
    ServerTotals totals = sums.totals();
    return totals.urls.empty() ? std::nullopt : std::optional(std::move(totals));
}

}  // namespace driftless
