/// Plays a sweep: cell by cell, with hooks, idle barrier and files around each.
#pragma once

#include <string>

#include "cmd/sweep/ledger.hpp"

namespace driftless {

/// Plays every cell of the ledger that has not ended, in order; writes the files into `folder`
/// after each step, prints a line per cell and a table. The caller holds the folder's lock and has
/// called `count_stop_requests`. `key` is the value of OPENAI_API_KEY. Returns the exit code.
int play_sweep(Ledger& ledger, const std::string& folder, const std::string& key);

}  // namespace driftless
