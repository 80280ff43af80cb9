/// InspectCommand: what the user asked of `driftless inspect`, as plain values.
///
/// Made once by `parse_inspect_options`. Parsing touches no file.
#pragma once

#include <string>
#include <vector>

#include "engine/input/trace_file.hpp"
#include "engine/inspect/figures.hpp"

namespace driftless {

struct InspectCommand {
    TraceFiles files;
    InspectOptions inspect;
    bool each = false;              ///< every file is a trace of its own
    bool plot = false;              ///< plots on the screen
    bool json = false;              ///< JSON on standard output instead of the screen
    std::uint64_t token_bytes = 0;  ///< of a token in the KV cache; 0: sizes in tokens only
    std::string hash_block_report;  ///< a file that must not be there, or "-"; empty: none
};

/// What came of a command line.
struct InspectCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    InspectCommand command;
};

/// Parses everything after the command's name.
InspectCommandLine parse_inspect_options(const std::vector<std::string>& arguments);

}  // namespace driftless
