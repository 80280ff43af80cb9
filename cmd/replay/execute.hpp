/// From a workload and a server to a finished run on disk: builds the parts and plays the order of
/// a run (engine/replay) on this host, with a folder, run.json and a writer's thread.
#pragma once

#include <string>

#include "cmd/base/process.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/resume.hpp"
#include "cmd/replay/run_file.hpp"
#include "engine/history/resumed_run.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

/// What is settled when a run is executed. All of it outlives the run.
struct PreparedRun {
    ReplayParts& parts;
    const RunFile& file;  ///< with its host
    const Plan& plan;  ///< what is to be sent: the workload's own, or what a resumed run has left
    const ResumedRun* resumed = nullptr;  ///< null: a new run
    PromptSums prompts;                   ///< of a resumed run, over all of its rows
};

/// Ends `quiet`, prints the summary and returns the exit code. `folder` was checked not to exist
/// and is made here (numbered, where `--out` did not name it and another run has it), but for a run
/// that is resumed.
int execute_run(const PreparedRun& prepared, UringDriver& driver, const std::string& folder,
                Quiet& quiet);

}  // namespace driftless
