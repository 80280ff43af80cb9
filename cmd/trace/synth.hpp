/// `driftless synth`: a workload without a recording, as a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/resample.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_synth(int argc, char** argv);

// `driftless synth like TRACE`: whole trees of a real trace, and how well they keep what it is.

/// `arguments`: those after "synth like". Returns the exit code.
int run_like(const std::vector<std::string>& arguments);

/// LikeCommand: what the user asked of `driftless synth like TRACE`, as plain values.
struct LikeCommand {
    TraceFiles files;
    LikeOptions like;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

/// What came of a command line.
struct LikeCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    LikeCommand command;
};

/// Parses everything after "synth like". Touches no file.
LikeCommandLine parse_like_options(const std::vector<std::string>& arguments);

}  // namespace driftless
