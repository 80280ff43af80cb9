/// The servers' own metrics: the tables that say what an engine's mean, in TOML, and their totals
/// over a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/history/run_lines.hpp"
#include "proto/json/document.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/server_log.hpp"

namespace driftless {

/// Reads a table of an engine's metrics in TOML (proto/metrics/metrics.md). Returns what is wrong
/// with the text, as "line 3: gate is not known", or the empty text.
std::string read_mapping(std::string_view text, EngineMapping& out);

/// Users' own first, then those that the program brings along, by the names of their files.
std::vector<EngineMapping> known_mappings(std::vector<EngineMapping> own = {});

/// A table that the program brings along: proto/metrics/*.toml, put into it when it is built.
struct ShippedMapping {
    std::string_view name;  ///< of the file, without ".toml"
    std::string_view text;
};
/// By the names of their files.
std::span<const ShippedMapping> shipped_mappings();

/// Gives every line of server.jsonl to `take`. Errors: of reading it; `why` says it.
template <typename Take>
Result<void> each_server_line(const std::string& path, std::string& why, Take take) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    JsonDocument document;
    while (const std::optional<std::string_view> text = lines.value().next()) {
        const Result<ServerLine> line = read_server_line(document, *text);
        if (!line) {
            why = describe_line(path, lines.value().number(), line.error());
            return line.error();
        }
        take(line.value());
    }
    why = lines.value().why();
    return lines.value().error() ? Result<void>(*lines.value().error()) : Result<void>();
}

/// What the servers measured of themselves over a run; empty if it has no server.jsonl, or no page
/// in it. Lines after one that cannot be read are left out, and `why` names file and line;
/// otherwise `why` is empty.
std::optional<ServerTotals> read_totals(const std::string& folder,
                                        std::span<const EngineMapping> mappings,
                                        std::vector<MeasuredSpan> spans, std::string& why);

}  // namespace driftless
