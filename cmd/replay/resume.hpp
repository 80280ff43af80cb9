/// Resumption: a run that was killed goes on in its own folder. Owns what was read back of it, and
/// decides which rows are sent.
///
/// The run goes on at the due instant of the first row that is still to be sent, on the same
/// timeline: due and stamps count from the time 0 of the run, which lies in the past. A row that
/// left and has no record is `interrupted`, and not sent again without `--resend`. Which rows left
/// is in the marks of the run (FiredMarks); where those are gone, as after the end of the host,
/// also a row that was due so late that it may have left unseen is taken to have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/options.hpp"
#include "cmd/replay/same_run.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/workload.hpp"
#include "cmd/run_folder.hpp"
#include "engine/history/past.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/judge.hpp"

namespace driftless {

/// Without marks: what was due up to this long after the last sign of a run may have left unseen:
/// its files are written twice a second (flush_every_ns), and a writer that is kept from its CPU
/// has as long again.
inline constexpr std::int64_t unseen_ns = 1'000'000'000;
/// Signs come with every row, and once a second without any (client.jsonl).
inline constexpr std::int64_t signs_every_ns = 1'000'000'000;

class Resumption {
  public:
    /// Locks the folder and reads what is there. Prints what is wrong; returns an exit code.
    int open(const std::string& folder, RunFacts facts);

    /// The server gives the prompts that it gave; sums over all of them. Prints, as above.
    int check(const ReplayOptions& options, const Workload& workload, const Server& server);
    /// Leaves in `workload` the rows that are to be sent, and says what becomes of the others.
    void narrow(bool resend, Workload& workload);

    /// The records of the rows that are given up. `config` is that of the run; its plan is not
    /// used.
    std::vector<Record> interrupted(AssemblerConfig config) const;

    const Past& past() const { return *past_; }
    const RunFacts& facts() const { return facts_; }
    const Plan& whole() const { return whole_; }
    std::uint32_t segment() const { return static_cast<std::uint32_t>(facts_.segments.size()); }
    std::uint64_t rows_interrupted() const { return given_up_.size(); }
    const PromptSums& prompts() const { return prompts_; }

  private:
    std::int64_t died_before_ns(const Workload& workload) const;
    std::optional<FiredMarks> find_marks(const Workload& workload) const;

    std::string folder_;
    FolderLock lock_;
    RunFacts facts_;
    std::unique_ptr<Past> past_;
    PromptSums prompts_;
    Plan whole_;                           ///< of the run
    std::vector<std::uint32_t> given_up_;  ///< rows of `whole_`
};

}  // namespace driftless
