/// Flags of the host: how many engines send (`--engines`), how they wait, what the verdict compares
/// with. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/replay/flags/options.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "auto" (`engines_auto`), or 1 to `engines_max`.
Result<std::uint32_t> parse_engines(std::string_view text);

/// Why this run has one engine whatever the host has: the flag that says so; or empty.
std::string one_engine_flag(const ReplayOptions& options);

/// Engines at most: each needs a part of every cap (open requests, connections, token budgets).
std::uint32_t engines_most(const ReplayOptions& options);

/// What contradicts another flag; or empty.
std::string host_contradiction(const ReplayOptions& options);

}  // namespace driftless
