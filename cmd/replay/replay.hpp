/// Replay: what one call of `driftless replay` knows, and the stages that find it out, in their
/// order. replay.cpp calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/host_choice.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/history/past.hpp"
#include "engine/history/resumed_run.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/host/host.hpp"
#include "engine/io/driver.hpp"
#include "engine/server/checks.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/warm_cache.hpp"

namespace driftless {

/// Runs the command; `argv[0]` is its name. Returns the exit code (design, section 4).
int run_replay(int argc, char** argv);

/// Sums over all rows of a plan, without sending any.
struct PromptSums {
    std::uint64_t digest = 0;
    std::uint64_t against_digest = 0;  ///< of those to --against, a part of it
    std::uint64_t clamped_rows = 0;
    std::uint64_t request_bytes = 0;
};

/// One replay. Each stage fills in some members; a run only reads them. Owns all that a run is made
/// of; its members refer to each other, so it stays where it is.
struct Replay {
    Replay(Invocation call, std::optional<RunFacts> named, Quiet& output)
        : invocation(std::move(call)), quiet(output), earlier(std::move(named)) {}
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    const Invocation invocation;
    Quiet& quiet;

    const std::optional<RunFacts> earlier;  ///< the run that `--resume` or `--from` names
    std::optional<FolderLock> lock;         ///< of the folder of `--resume`
    std::unique_ptr<Past> past;             ///< what is in that folder; else null

    Workload workload;               ///< the trace and its plan (load_workload, choose_share)
    HostFacts facts;                 ///< of this host (check_calibration)
    HostChoice host;                 ///< where the threads run; of a dry run nothing is chosen
    std::unique_ptr<Driver> driver;  ///< of the first engine; null: a dry run
    Server server;
    std::vector<std::string> warnings;  ///< about rows that this server may not take as meant
    std::unique_ptr<ReplayParts> parts;

    std::optional<VerifyFindings> verified;  ///< `--verify-prompts`
    PromptSums sums;                         ///< of a run that is resumed
    CalibrationFacts calibration;            ///< of a dry run: none
    CacheProbe cache;                        ///< of a dry run: none

    const ReplayOptions& options() const { return invocation.options; }
    bool resumes() const { return past != nullptr; }
    bool sends() const { return driver != nullptr; }
};

/// The command line of a replay that takes up an earlier run, or a file of flags: reads what `line`
/// names, completes the flags from it, and parses them again. Does nothing to a line that names
/// none.
/// `api_key` is that of the environment. Prints what is wrong; returns an exit code.
int take_up(const std::string& api_key, ReplayCommandLine& line, std::optional<RunFacts>& earlier);

// The stages. Each uses what those before it have left in the Replay. It returns exit_done, or
// prints what stops the replay and returns the exit code.

// Before any server is asked.

/// `--resume`: locks the folder and reads what is there (resume.cpp).
int open_earlier(Replay& run);
/// A new run can write where it is told to (invocation.cpp).
int check_places(Replay& run);
/// Reads the trace and makes the plan, once: of dual fire with both requests of each row. Prints
/// what was found (workload.cpp).
int load_workload(Replay& run);
/// The file of `--save-prompts` must not exist. Rows with bodies of their own must all be for one
/// API, and cannot be verified or replicated (dry_run.cpp).
int check_bodies(Replay& run);
/// What a run with live assistants cannot do (parts.cpp).
int check_live(Replay& run);
/// Rows whose values cannot be in the headers and bodies that are made of them (workload.cpp).
int check_row_templates(Replay& run);
/// Budgets count tokens that must be known. Prints how long the rows take at least
/// (timing_notes.cpp).
int check_budgets(Replay& run);
/// A `--fail-if` that holds even if every request gets its answer (timing_notes.cpp).
int check_thresholds(Replay& run);
/// Trace and schedule are those of the earlier run (resume.cpp).
int check_schedule(Replay& run);
/// What this process will need of the plan, and its users. Prints which part it has; refuses parts
/// without rows (shard.cpp).
int choose_share(Replay& run);
/// Reads the facts of this host. A file of `--calibration` must be one, and `--require-certified`
/// with a file that does not hold for this host can only end in exit 6 (calibration_lookup.cpp).
int check_calibration(Replay& run);
/// Takes the words from `--tokenizer`, and counts the text of `--dataset` with it. Rows must not
/// ask for more text than there is (workload.cpp).
int choose_words(Replay& run);

// With servers; a dry run has only some of them.

/// Where connections to the targets go to, with TLS (server.cpp).
int resolve_targets(Replay& run);
/// Chooses CPUs, pins this thread, and makes its rings (host_choice.cpp).
int take_host(Replay& run);
/// What the flags say of the servers, and the first row where `--model` is taken from rows
/// (server.cpp).
int describe_server(Replay& run);
/// Asks all servers (or keeps to what the flags say, under `--no-preflight`), prints what was
/// found, and decides model, prompt kind and overhead (server.cpp).
int meet_servers(Replay& run);
/// Rows must fit the model; what it may refuse or count otherwise is warned of (parts.cpp).
int check_rows(Replay& run);
/// Recorded requests become bodies, as the server is to get them (parts.cpp).
int make_bodies(Replay& run);
/// Hits as the servers' caches should have them. Prints why there is no forecast in their own
/// blocks (parts.cpp).
int forecast_hits(Replay& run);
/// The plan keeps the rows of this process (shard.cpp).
int deal_share(Replay& run);
/// Words, prompts, heads, frames (parts.cpp).
int make_parts(Replay& run);
/// `--verify-prompts`: some prompts, held against the tokens that the server makes of them
/// (server_checks.cpp).
int verify_prompts(Replay& run);
/// `--save-prompts`: builds every body as the run will build it, and writes all of them as a
/// canonical trace. Headers, and so keys, are never in it (dry_run.cpp).
int save_prompts(Replay& run);
/// The prompts are those of the earlier run: all are built and summed (resume.cpp).
int compare_prompts(Replay& run);
/// Finds the calibration of this host, or measures it for up to 2 s, and prints what follows from
/// it; a resumed run keeps that of its beginning. Ends at once where the user stops the replay
/// (calibration_lookup.cpp).
int look_up_calibration(Replay& run);
/// Whether the servers' caches are warm from an earlier run; `--reset-cache` (server_checks.cpp).
int probe_caches(Replay& run);

struct Played {
    int code;    ///< of the process
    bool began;  ///< it was played, and its files are written
};
/// Plays the steps of a run (engine/replay): a folder, run.json, the engines, the writer's thread.
/// Ends `quiet` and prints the summary (execute.cpp).
Played execute_run(const Replay& run);
/// `--dry-run`: arms every row and sends nothing. Prints the schedule, the digests and the expected
/// hits; writes run.json only where `--out` names a folder (dry_run.cpp).
int execute_dry_run(Replay& run);

// What stages share.

/// As `complain`; returns that exit code.
int refuse(int exit_code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// Says that nothing was sent and written; returns that exit code.
int refuse_interrupted();
/// Keeps what was made. Returns `exit_done`, or the code of what stopped it.
template <typename T>
int keep(OrExit<T> made, T& out) {
    if (!made) {
        return made.exit_code();
    }
    out = std::move(made).value();
    return exit_done;
}

/// Builds every request as the run would: half a second for 100 M tokens. Prints an error if there
/// is no memory for bodies.
OrExit<PromptSums> sum_prompts(ReplayParts& parts);
/// Of a run that is resumed: prints which rows are to be sent, and what becomes of the others. What
/// it returns refers to `run`.
ResumedRun resumed_run(const Replay& run);
/// A run that goes on keeps the calibration that it began with; where that is missing, or was made
/// on another host, its verdict cannot be certified.
int check_calibration_again(const CalibrationFlags& flags, const std::string& folder,
                            const RunFacts& run, const HostFacts& facts);
/// Throws figures away that an earlier run has kept and this one contradicts, and says so: on
/// average its wakes were several times later than nearly all were then, though no other thread
/// wanted its CPU.
void check_kept(const CalibrationFacts& calibration, const ClientTotals& client);

}  // namespace driftless
