/// The servers' own metrics: the tables that say what an engine's mean, in TOML, and their totals
/// over a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/metrics/server_figure.hpp"

namespace driftless {

// A table of an engine's metrics in TOML (proto/metrics/metrics.md), read into values.

/// Reads the text of a file. Returns what is wrong with it, as "line 3: gate is not known", or the
/// empty text.
std::string read_mapping(std::string_view text, EngineMapping& out);

/// Users' own first, then those that the program brings along, by the names of their files.
std::vector<EngineMapping> known_mappings(std::vector<EngineMapping> own = {});

// The tables of servers' metrics that the program brings along: proto/metrics/*.toml, put into the
// program when it is built.

struct ShippedMapping {
    std::string_view name;  ///< of the file, without ".toml"
    std::string_view text;
};
/// By the names of their files.
std::span<const ShippedMapping> shipped_mappings();

// What the servers measured of themselves over a run, from its server.jsonl.

/// Empty if the run has no such file, or no page in it. Lines after one that cannot be read are
/// left out, and `why` names file and line; otherwise `why` is empty.
std::optional<ServerTotals> read_totals(const std::string& folder,
                                        std::span<const EngineMapping> mappings,
                                        std::vector<MeasuredSpan> spans, std::string& why);

}  // namespace driftless
