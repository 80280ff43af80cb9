/// Again: `--resume RUN` and `--from RUN`: what an earlier run says of itself becomes the flags of
/// this one.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

/// Reads the run that `line` names, completes the flags from it, and parses them anew. `api_key` is
/// that of the environment. Prints why it cannot be; returns an exit code.
int take_up(const std::string& api_key, ReplayCommandLine& line, RunFacts& facts);

}  // namespace driftless
