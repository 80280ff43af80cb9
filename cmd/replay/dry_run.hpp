/// `--dry-run`: everything but sending.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// `--dry-run`: arms every row and sends nothing. Prints the schedule, the digests and the expected
/// cache hits; writes run.json only where `--out` names a folder.
int execute_dry_run(const ReplayOptions& options, const Workload& workload, const Server& server,
                    RunFile& file);

}  // namespace driftless
