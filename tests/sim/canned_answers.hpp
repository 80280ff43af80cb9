/// What ScriptedServers say: every golden case of the chat API, and answers that no file could
/// hold: endless, huge, or dripping.
#pragma once

#include <vector>

#include "tests/sim/scripted_server.hpp"

namespace driftless::sim {

/// All of them.
const std::vector<CannedAnswer>& canned_answers();
/// Without those of more than 64 KiB: what a swarm can afford in every run.
const std::vector<CannedAnswer>& light_answers();

}  // namespace driftless::sim
