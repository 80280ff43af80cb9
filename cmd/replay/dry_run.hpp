/// Replays that send nothing: `--dry-run`, and the requests written as a trace (`--save-prompts`).
#pragma once

#include "cmd/flags/options.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/host/host.hpp"

namespace driftless {

// `--dry-run`: everything but sending.

/// `--dry-run`: arms every row and sends nothing. Prints the schedule, the digests and the expected
/// cache hits; writes run.json only where `--out` names a folder.
int execute_dry_run(ReplayParts& parts, const HostFacts& host);

// `--save-prompts`: the exact request bodies of a run with their due times, as a canonical trace
// whose rows have a `body`. Replaying that file sends the same bytes again.

/// If the flag was given: builds every body before time 0, as the run will build it, and writes it
/// to the new file that the flag names (plain, .gz, .zst by its ending). Headers, and so keys, are
/// never in it. Prints what it wrote; returns an exit code.
int save_prompts(ReplayParts& parts);

/// Rows with bodies of their own must all be for one API, and cannot be verified as prompts. Prints
/// what is wrong; returns an exit code.
int check_bodies(const ReplayOptions& options, const Trace& trace);

}  // namespace driftless
