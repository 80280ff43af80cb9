/// Resumption: a run that was killed goes on in its own folder. Owns the folder's lock and what was
/// read back, and says what becomes of its rows, which engine/session and engine/history decide.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cmd/or_exit.hpp"
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
    /// Locks the folder and reads what is there. Prints what is wrong.
    static OrExit<Resumption> open(const std::string& folder, RunFacts facts);

    /// Checks that the prompts for this server are those of the earlier segments, and returns sums
    /// over all of them. Prints what is wrong.
    OrExit<PromptSums> check(ReplayParts& parts) const;
    /// Prints which rows are to be sent, and what becomes of the others. What it returns refers to
    /// this and to the workload.
    ResumedRun resume(const ReplayOptions& options, const Workload& workload) const;

  private:
    Resumption(std::string folder, FolderLock lock, RunFacts facts, std::unique_ptr<Past> past)
        : folder_(std::move(folder)),
          lock_(std::move(lock)),
          facts_(std::move(facts)),
          past_(std::move(past)) {}

    std::optional<FiredMarks> find_marks(const Workload& workload) const;
    std::uint64_t known_records(const Workload& workload) const;

    std::string folder_;
    FolderLock lock_;
    RunFacts facts_;
    std::unique_ptr<Past> past_;
};

}  // namespace driftless
