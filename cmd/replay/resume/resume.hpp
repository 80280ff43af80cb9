/// Resumption: a run that was killed goes on in its own folder. Owns what was read back of it, and
/// says what becomes of its rows; which are sent is decided in engine/history/remaining_rows.
///
/// The run goes on at the due instant of the first row that is still to be sent, on the same
/// timeline: due and stamps count from the time 0 of the run, which lies in the past.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "cmd/run_folder.hpp"
#include "engine/history/past.hpp"
#include "engine/history/remaining_rows.hpp"
#include "engine/record/fired_marks.hpp"

namespace driftless {

class Resumption {
  public:
    /// Locks the folder and reads what is there. Prints what is wrong; returns an exit code.
    int open(const std::string& folder, RunFacts facts);

    /// The server gives the prompts that it gave; sums over all of them. Prints, as above.
    int check(const ReplayOptions& options, const Workload& workload, const Server& server);
    /// Leaves in `workload` the rows that are to be sent, and says what becomes of the others.
    void narrow(const ReplayOptions& options, Workload& workload);

    /// The records of the rows that no segment will send. `config` is that of this segment; its
    /// plan is not used.
    std::vector<Record> settled_records(const AssemblerConfig& config) const;
    const RemainingRows& remaining() const { return remaining_; }

    const Past& past() const { return *past_; }
    const RunFacts& facts() const { return facts_; }
    const Plan& whole() const { return whole_; }
    std::uint32_t segment() const { return static_cast<std::uint32_t>(facts_.segments.size()); }
    std::uint64_t rows_interrupted() const { return remaining_.given_up.size(); }
    const PromptSums& prompts() const { return prompts_; }

  private:
    std::optional<FiredMarks> find_marks(const Workload& workload) const;
    std::uint64_t known_records(const Workload& workload) const;
    InterruptedRun interrupted_run(const Trace& trace, const FiredMarks* marks) const;
    void say_remaining(bool resend, bool marks, std::int64_t first_due_ns) const;

    std::string folder_;
    FolderLock lock_;
    RunFacts facts_;
    std::unique_ptr<Past> past_;
    PromptSums prompts_;
    Plan whole_;  ///< of the run
    RemainingRows remaining_;
    bool closed_ = false;  ///< rows wait for others
    Speed speed_;
};

}  // namespace driftless
