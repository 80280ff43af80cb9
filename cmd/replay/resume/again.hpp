/// Again: `--resume RUN` and `--from RUN`: what an earlier run says of itself becomes the flags of
/// this one.
#pragma once

#include <optional>
#include <string>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

/// The command line of a run, and the earlier run that it takes up.
struct TakenUp {
    ReplayCommandLine line;
    std::optional<RunFacts> earlier;  ///< nothing: a run of its own
};

/// Reads the run that `typed` names, completes the flags from it, and parses them again; a line
/// that names no run stays unchanged. `api_key` is that of the environment. Prints what is wrong.
OrExit<TakenUp> take_up(const std::string& api_key, ReplayCommandLine typed);

}  // namespace driftless
