/// From a workload and a server to a finished run on disk: builds the parts and plays the order of
/// a run (engine/session) on this host, with a folder, run.json and a writer's thread.
#pragma once

#include <string>

#include "cmd/quiet.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/run/host_choice.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/io/uring.hpp"
#include "engine/session/resumed_run.hpp"

namespace driftless {

/// What is settled when a run is executed. All of it outlives the run.
struct PreparedRun {
    const ReplayOptions& options;
    const Workload& workload;
    const Plan& plan;  ///< what is to be sent: the workload's own, or what a resumed run has left
    const Server& server;
    const HostChoice& host;
    const ResumedRun* resumed = nullptr;  ///< null: a new run
    PromptSums prompts;                   ///< of a resumed run, over all of its rows
};

/// Ends `quiet`, prints the summary and returns the exit code. `folder` was checked not to exist
/// and is made here (numbered, where `--out` did not name it and another run has it), but for a run
/// that is resumed; `file` holds what is known so far and is completed.
int execute_run(const PreparedRun& prepared, UringDriver& driver, const std::string& folder,
                RunFile& file, Quiet& quiet);

}  // namespace driftless
