/// A table of an engine's metrics in TOML (engine/scrape/metrics.md), read into values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/scrape/server_figure.hpp"

namespace driftless {

/// Reads the text of a file. Returns what is wrong with it, as "line 3: gate is not known", or the
/// empty text.
std::string read_mapping(std::string_view text, EngineMapping& out);

/// Users' own first, then those that the program brings along, by the names of their files.
std::vector<EngineMapping> known_mappings(std::vector<EngineMapping> own = {});

}  // namespace driftless
