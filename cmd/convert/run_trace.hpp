/// A run as a trace: what was really sent and got, for `convert RUN`.
#pragma once

#include <string>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// Whether `path` is the folder of a run.
bool is_run_folder(const std::string& path);

/// The rows that the run sent, at the instants at which they left, with the lengths of prompts and
/// answers as the server counted them. Kept columns tell what the server took from its cache, and
/// how each row ended. Block ids, sessions and waits come from the run's own trace; if that cannot
/// be read any more or is another one, rows have only lengths and sessions, and a note says so.
/// Rows that users sent several times become a session of their own for each pass. Returns the exit
/// code; errors are printed.
int read_run_trace(std::string folder, Trace& out, std::vector<std::string>& notes);

/// The trace of a run as it was planned. False if it cannot be read any more or is another one;
/// `why` says so in a clause.
bool read_planned_trace(const std::string& folder, Trace& out, std::string& why);

}  // namespace driftless
