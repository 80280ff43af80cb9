/// `driftless inspect`: what is in a trace, what is wrong with it, what a cache of it could hit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/reading/inspect.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Returns the exit code. `argv[0]` is the command's name.
int run_inspect(int argc, char** argv);

/// InspectCommand: what the user asked of `driftless inspect`, as plain values.
///
/// Made once by `parse_inspect_options`. Parsing touches no file.
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

// What `driftless inspect` shows: figures as tables, and as plots where they are asked for. Text
// out; it computes nothing that is not a share, and prints nothing.

struct InspectView {
    bool plots = false;
    std::uint64_t token_bytes = 0;  ///< of a token in the KV cache; 0: sizes in tokens only
};

std::string inspect_table(const Trace& trace, const InspectFigures& figures,
                          const InspectView& view);

/// The table of files: its heading, a line of a file (with the trace's format where `each` is one
/// of its own), and a line of one that is refused.
std::string file_heading(bool each);
std::string file_line(const FileFigures& file, const Trace* each);
std::string refused_line(const std::string& name, const InputErrors& errors);

}  // namespace driftless
