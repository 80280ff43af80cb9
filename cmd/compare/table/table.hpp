/// `driftless compare --table RUN..`: many runs beside each other. What the user asked of it, and
/// the command itself.
#pragma once

#include <string>
#include <vector>

namespace driftless {

struct TableCommand {
    std::vector<std::string> runs;  ///< folders as typed, at least one
};

/// Prints the table. Returns the exit code; what failed is printed.
int compare_table(const TableCommand& command);

}  // namespace driftless
