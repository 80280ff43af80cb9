/// What the user asked of `driftless sweep`. Parsing reads the plan's file and no other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/sweep/plan.hpp"

namespace driftless {

struct SweepCommand {
    SweepPlan plan;      ///< complete and checked; empty with `resume`
    std::string out;     ///< folder of the sweep; empty: the default
    std::string resume;  ///< folder of one that was cut off
    bool dry_run = false;
};

struct SweepCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    SweepCommand command;
};

/// Parses everything after the command's name; flags of replay stand behind "--".
SweepCommandLine parse_sweep_options(const std::vector<std::string>& arguments);

}  // namespace driftless
