/// `--dry-run`: everything but sending.
#pragma once

#include "cmd/replay/run/parts.hpp"
#include "engine/host/host.hpp"

namespace driftless {

/// `--dry-run`: arms every row and sends nothing. Prints the schedule, the digests and the expected
/// cache hits; writes run.json only where `--out` names a folder.
int execute_dry_run(ReplayParts& parts, const HostFacts& host);

}  // namespace driftless
