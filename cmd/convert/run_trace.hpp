/// A run as a trace: what was really sent and got, for `convert RUN`.
#pragma once

#include <string>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// Whether `path` is the folder of a run.
bool is_run_folder(const std::string& path);

/// The rows of the run that left, at the instants at which they did, with the lengths of their
/// prompts and answers as the server counted them, and with what it took from its cache and how
/// they ended among their kept columns. Block ids, sessions and waits come from the run's own
/// trace; where that cannot be read any more, or is another one, rows have lengths and sessions
/// alone, and a note says so. Rows that users sent several times are sessions of their own for each
/// pass. Returns the exit code; what is wrong is printed.
int read_run_trace(std::string folder, Trace& out, std::vector<std::string>& notes);

/// The trace of a run as it was planned; nothing where it cannot be read any more, or is another
/// one: `why` says it, a clause.
bool read_planned_trace(const std::string& folder, Trace& out, std::string& why);

}  // namespace driftless
