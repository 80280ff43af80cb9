/// Where a new run writes, before there is one.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// "runs/20261121T034512Z-<trace name>".
std::string default_folder(const std::string& trace_name);

/// Whether the run can write where it is told to; what a run left that was killed before its
/// run.json is taken again. Prints why not; returns an exit code.
int check_paths(const ResultFlags& results, bool dry_run);

}  // namespace driftless
