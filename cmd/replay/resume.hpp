/// A replay that continues an earlier run (`--resume`) or repeats it (`--from`): its flags taken up
/// again, whether it is the same work, what is left to send.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/options.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/history/past.hpp"
#include "engine/history/resumed_run.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

// Same run: whether this trace, schedule and these prompts are those of an earlier run, by the
// digests in its run.json. Prints what differs and what would fix it; returns exit codes.

/// Sums over all rows of a plan, without sending any.
struct PromptSums {
    std::uint64_t digest = 0;
    std::uint64_t against_digest = 0;  ///< of those to --against, a part of it
    std::uint64_t clamped_rows = 0;
    std::uint64_t request_bytes = 0;
};
/// Builds every request as the run would: half a second for 100 M tokens. Prints an error if there
/// is no memory for bodies.
OrExit<PromptSums> sum_prompts(ReplayParts& parts);

/// Trace and schedule. `flag` is named in what is printed.
int check_schedule(const RunFacts& facts, const Workload& workload, const char* flag);

/// The words, what the server's template adds, and, of a run that does not know the digest of all
/// its prompts, seed, salt and dataset: with an equal schedule they make equal prompts.
int check_words(const RunFacts& facts, const ReplayParts& parts, const char* flag);

/// The prompts themselves, where the run knew its digest; else the words.
int check_prompts(const RunFacts& facts, ReplayParts& parts, const char* flag);

/// Resumption: a run that was killed goes on in its own folder. Owns the folder's lock and what was
/// read back, and says what becomes of its rows, which engine/replay and engine/history decide.
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

// Again: `--resume RUN` and `--from RUN`: what an earlier run says of itself becomes the flags of
// this one.

/// The command line of a run, and the earlier run that it takes up.
struct TakenUp {
    ReplayCommandLine line;
    std::optional<RunFacts> earlier;  ///< nothing: a run of its own
};

/// Reads the run that `typed` names, completes the flags from it, and parses them again; a line
/// that names no run stays unchanged. `api_key` is that of the environment. Prints what is wrong.
OrExit<TakenUp> take_up(const std::string& api_key, ReplayCommandLine typed);

/// EarlierRun: the run that `--resume` continues or `--from` repeats, once its folder is opened.
struct EarlierRun {
    RunFacts facts;
    std::optional<Resumption> resumption;  ///< `--resume`
};

/// Locks the folder of a run that is resumed. Empty if there is no earlier run.
OrExit<std::optional<EarlierRun>> open_earlier(const AgainFlags& again,
                                               const std::optional<RunFacts>& facts);

/// Checks that the prompts are those of the run that is resumed or repeated. Returns sums over all
/// prompts of a resumed run; otherwise zeros.
OrExit<PromptSums> compare(const std::optional<EarlierRun>& earlier, ReplayParts& parts);

}  // namespace driftless
