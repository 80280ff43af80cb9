/// Flags of the host: how many engines send (`--engines`), how they wait, what the verdict compares
/// with. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// The flag because of which this run has one engine, whatever the host has; empty: there is none.
std::string one_engine_flag(const ReplayOptions& options);

/// Engines at most: each needs a part of every cap (open requests, connections, token budgets).
std::uint32_t engines_most(const ReplayOptions& options);

/// What contradicts another flag; or empty.
std::string host_contradiction(const ReplayOptions& options);

}  // namespace driftless
