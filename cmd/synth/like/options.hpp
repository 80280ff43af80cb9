/// LikeCommand: what the user asked of `driftless synth like TRACE`, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/input/trace_file.hpp"
#include "engine/synth/like.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

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
