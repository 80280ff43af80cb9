/// From a workload and a server to a finished run on disk: builds the parts, sets time 0, turns the
/// loop on the engine's CPU while the writer thread writes, and closes the books.
#pragma once

#include <string>

#include "cmd/quiet.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/resume/resume.hpp"
#include "cmd/replay/run/host_choice.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

/// Ends `quiet`, prints the summary and returns the exit code. `folder` was checked not to exist
/// and is made here (numbered, where `--out` did not name it and another run has it), but for a run
/// that is resumed (`resumption` is not null: `workload` holds the rest of its rows, maybe none);
/// `file` holds what is known so far and is completed.
int execute_run(const ReplayOptions& options, const Workload& workload, const Server& server,
                const HostChoice& host, UringDriver& driver, const std::string& folder,
                RunFile& file, const Resumption* resumption, Quiet& quiet);

}  // namespace driftless
