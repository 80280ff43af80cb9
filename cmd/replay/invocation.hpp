/// Invocation: one call of `driftless replay`: the flags as parsed, and beside them what no parser
/// can know: keys that stand in the environment, what is drawn for each run anew, and the command
/// line as run.json keeps it. Made once, before anything is read, and never changed.
#pragma once

#include <string>
#include <vector>

#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/options.hpp"

namespace driftless {

struct Invocation {
    ReplayOptions options;
    Credentials credentials;
    /// Eight hex digits that differ from run to run: servers must never see two live requests with
    /// one name. Apart from a random salt, the only part of a run that its seed does not decide.
    std::string run_id;
    std::string cache_salt;              ///< `--cache-salt`, or what was drawn; empty: none
    std::vector<std::string> command;    ///< as typed, keys masked
    std::vector<std::string> arguments;  ///< in our spelling: TRACE.., then `--flag=value`
    std::string records_path;            ///< `--output-path`, absolute; empty: in the folder
};

/// Draws what is random, and prints a salt that was drawn. `command`: the masked command line.
Invocation make_invocation(ReplayCommandLine line, Credentials credentials,
                           std::vector<std::string> command);

}  // namespace driftless
