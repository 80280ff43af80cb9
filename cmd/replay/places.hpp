/// Where a new run writes, before there is one.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// "runs/20261121T034512Z-<trace name>".
std::string default_folder(const std::string& trace_name);

/// Of a new run: `--out`, else the default, which names the part of a plan that is sent.
std::string folder_of(const ReplayOptions& options, const std::string& trace_name);

/// Whether the run can write where it is told to. What a run left that was killed before it wrote
/// run.json may be replaced. Prints what is wrong; returns an exit code.
int check_paths(const ResultFlags& results, bool dry_run);

}  // namespace driftless
