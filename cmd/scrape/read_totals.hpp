/// What the servers measured of themselves over a run, from its server.jsonl.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/scrape/server_totals.hpp"

namespace driftless {

/// Empty if the run has no such file, or no page in it. Lines after one that cannot be read are
/// left out, and `why` names file and line; otherwise `why` is empty.
std::optional<ServerTotals> read_totals(const std::string& folder,
                                        std::span<const EngineMapping> mappings,
                                        std::vector<MeasuredSpan> spans, std::string& why);

}  // namespace driftless
