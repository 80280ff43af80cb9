/// `--against`: what goes with it. Pure.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/flags/options_check.hpp"

namespace driftless {

/// Once targets and sessions are complete: one line that says which flag does not go with dual
/// fire, why, and what does, or the empty text.
std::string dual_contradiction(const TypedServer& server, const ReplayOptions& options);

}  // namespace driftless
