/// Resumption: a run that was killed goes on in its own folder. Owns the folder's lock and what was
/// read back, and says what becomes of its rows, which engine/session and engine/history decide.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "cmd/run_folder.hpp"
#include "engine/history/past.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/session/resumed_run.hpp"

namespace driftless {

class Resumption {
  public:
    /// Locks the folder and reads what is there. Prints what is wrong; returns an exit code.
    int open(const std::string& folder, RunFacts facts);

    /// The server gives the prompts that it gave; sums over all of them. Prints, as above.
    int check(const ReplayOptions& options, const Workload& workload, const Server& server);
    /// Prints which rows are to be sent, and what becomes of the others. What it returns refers to
    /// this and to the workload.
    ResumedRun resume(bool resend, const Workload& workload) const;
    /// Over all rows, once `check` has passed.
    const PromptSums& prompts() const { return prompts_; }

  private:
    std::optional<FiredMarks> find_marks(const Workload& workload) const;
    std::uint64_t known_records(const Workload& workload) const;

    std::string folder_;
    FolderLock lock_;
    RunFacts facts_;
    std::unique_ptr<Past> past_;
    PromptSums prompts_;
};

}  // namespace driftless
