/// From a workload and a server to a finished run on disk: builds the parts, sets time 0, turns the
/// loop on the engine's CPU while the writer thread writes, and closes the books.
#pragma once

#include <string>
#include <vector>

#include "cmd/replay/options.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/trust.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

/// What the host side of a run decided.
struct HostChoice {
    CpuChoice engine_cpu;
    std::vector<std::uint32_t> writer_cpus;
    WaitRule wait = WaitRule::hybrid;
    std::uint64_t file_limit = 0;
    std::uint32_t inflight_max = 0;
    Trust trust;
};

/// Prints the summary and returns the exit code. `folder` was checked not to exist and is made
/// here; `file` holds what is known so far and is completed.
int execute_run(const ReplayOptions& options, const Workload& workload, const Server& server,
                const HostChoice& host, UringDriver& driver, const std::string& folder,
                RunFile& file);

/// `--dry-run`: arms every row and sends nothing. Prints the schedule, the digests and the expected
/// cache hits; writes run.json only where `--out` names a folder.
int execute_dry_run(const ReplayOptions& options, const Workload& workload, const Server& server,
                    RunFile& file);

}  // namespace driftless
