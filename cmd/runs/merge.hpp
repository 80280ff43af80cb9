/// `driftless merge`: the runs of the shards of one replay become one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/report/summary_table.hpp"

namespace driftless {

/// Exit codes: 0 done, 2 usage, 3 the runs cannot be merged, 7 the host fails.
int run_merge(int argc, char** argv);

// What the user asked of `driftless merge`. Parsing touches no file.

struct MergeCommand {
    std::vector<std::string> folders;
    std::string out;
    std::int64_t clock_error_max_ns = 0;
    bool page = true;  ///< report.html
    TableKind table = TableKind::compact;
};

struct MergeCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    MergeCommand command;
};

MergeCommandLine parse_merge_options(const std::vector<std::string>& arguments);

}  // namespace driftless
