/// `driftless sweep`: a trace played once for each combination of values: its options and plan, the
/// ledger of all cells with its files and table, and playing them cell by cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/table.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_sweep(int argc, char** argv);

// SweepPlan: what a sweep is to do, and the cells that it has. Plain values; pure functions, which
// print nothing and touch no file. `sweep.json` keeps the plan, so that `--resume` needs no other
// source.

/// Cells of one sweep, repeats counted.
inline constexpr std::size_t cells_max = 1000;

/// What is varied: a flag of replay, or a setting of the server that hooks alone know.
struct SweepAxis {
    std::string name;  ///< without dashes
    std::vector<std::string> values;
    bool of_server = false;
};

struct SweepPlan {
    std::string home;                    ///< absolute: paths and hooks go by this folder
    std::vector<KeptTrace> traces;       ///< that cells name
    std::vector<std::string> arguments;  ///< of every replay: TRACE.., flags
    std::vector<SweepAxis> axes;
    std::uint64_t repeat = 1;
    std::vector<std::pair<std::string, std::string>> labels;
    Hook before{"before", "", 0};
    Hook ready{"ready", "", 0};
    Hook after{"after", "", 0};
    std::int64_t idle_limit_ns = 0;  ///< longest wait for an idle server
    /// Each cell has prompts of its own (`--cache-salt random`), because nothing else empties the
    /// server's cache between cells.
    bool salted = false;
};

struct PlannedCell {
    std::vector<CellValue> values;  ///< [axes]
    std::uint64_t repeat = 1;       ///< from 1
    std::string name;               ///< "speed=2 users=8"
    std::string folder;             ///< of its run, in that of the sweep: "03-speed=2-users=8"
};

/// "speed=1,2,4": an axis. Errors: invalid; the `doing` says what is wrong, and the remedy.
Result<SweepAxis> parse_axis(std::string_view text);

/// What is wrong with a plan, with the remedy; empty: nothing. Flags of replay are not looked at.
std::string check_plan(const SweepPlan& plan);

/// Whether replay's flags leave the cache to us: neither --cache-salt nor --reset-cache is given,
/// and no `before` hook may restart the server.
bool needs_salt(const SweepPlan& plan);

/// Every combination, in the order in which they are played: the first axis changes slowest; every
/// second repeat goes backwards (A B B A), so that a drift of the machine does not favour one end.
std::vector<PlannedCell> plan_cells(const SweepPlan& plan);

/// Arguments of a cell's replay, but for --out.
std::vector<std::string> arguments_of(const SweepPlan& plan, const PlannedCell& cell);

/// What the user asked of `driftless sweep`.
struct SweepCommand {
    SweepPlan plan;      ///< complete and checked; empty with `resume`
    std::string out;     ///< folder of the sweep; empty: the default
    std::string resume;  ///< folder of one that was cut off
    bool dry_run = false;
};

struct SweepCommandLine : CommandLine {
    SweepCommand command;
};

/// Parses everything after the command's name; flags of replay are behind "--". Reads the plan's
/// file and no other.
SweepCommandLine parse_sweep_options(const std::vector<std::string>& arguments);

/// Reads the text of a plan in TOML (sweep.md) over the defaults in `out`. Returns what is wrong
/// with it, as "line 3: gate is not known", or the empty text.
std::string read_plan_file(std::string_view text, SweepPlan& out);

// Ledger: what is known of every cell of a sweep, and the files that keep it: `sweep.json`,
// written whole after each step, and `sweep.csv`, the table of the runs (table.hpp). One process at
// a time has the folder.

inline constexpr int sweep_schema = 2;  ///< 1 had means of the repeats, too

enum class CellState : std::uint8_t {
    pending,  ///< not begun
    running,  ///< begun; in a file that no process writes any more: cut off
    ended,
};
template <>
inline constexpr auto closed_list<CellState> = name_list("pending", "running", "ended");

struct LedgerCell {
    PlannedCell planned;
    CellState state = CellState::pending;
    CellOutcome outcome = CellOutcome::failed;  ///< of an ended one
    std::string why;                            ///< one line; empty: nothing to say
    std::string note;         ///< what else happened, as that the server's counters are not known
    std::string hook_failed;  ///< "before: exit code 3; after: exit code 1"; empty: none
    std::optional<bool> warm;
    std::optional<int> exit_code;  ///< of the replay; nothing: it was not started, or killed
    std::string began;             ///< UTC
    std::string verdict;           ///< its name
    std::string summary;           ///< figures, a JSON object; empty: none
    std::vector<std::string> cut_folders;  ///< of earlier tries that were cut off
};

/// What a ledger keeps of a run's summary, as a JSON object: every number, and what else says
/// whether its figures count.
std::string kept_figures(const CellSummary& summary);

struct Ledger {
    SweepPlan plan;
    std::vector<LedgerCell> cells;  ///< in the order in which they are played
};
Ledger new_ledger(const SweepPlan& plan);

std::string sweep_json(const Ledger& ledger);

/// Reads the text of a `sweep.json`. Returns what is wrong with it, or the empty text.
std::string read_ledger(const std::string& text, Ledger& out);

/// Writes both files into `folder`. Errors: those of the file system.
Result<void> write_ledger(const Ledger& ledger, const std::string& folder);

/// The runs of a sweep in `folder`, as `compare --table` reads them. Cells without a run are there,
/// too, with the reason.
std::vector<TableRun> sweep_runs(const Ledger& ledger, const std::string& folder);

/// "cell 3 of 6  speed=4 users=8  ", without the end of the line.
std::string cell_begins(const Ledger& ledger, std::size_t index);
/// The rest of it: what came of the cell.
std::string cell_ends(const LedgerCell& cell);

/// The sum of all running and waiting requests that a /metrics page has, over all engines and
/// models; by the names of vLLM, SGLang, TGI, llama.cpp and Dynamo. Nothing where it has none of
/// them.
std::optional<double> busy_requests(std::string_view page);

// The idle barrier: between two cells, wait until no server has a request left. Prints nothing,
// except that a name cannot be resolved or a certificate cannot be read.

enum class IdleOutcome : std::uint8_t {
    idle,     ///< its counters were 0 three times, 0.5 s apart
    unknown,  ///< it has no counters that we know; it had 2 s of quiet
    busy,     ///< requests were left at the limit
    stopped,  ///< the user asked to stop
};

struct IdleEnd {
    IdleOutcome outcome = IdleOutcome::idle;
    std::string note;  ///< one clause, where it is not idle
};

/// Asks /metrics of every target of these flags. `stops` as in `run_hook`.
IdleEnd wait_until_idle(const ReplayOptions& options, std::int64_t limit_ns, int stops);

/// sweep.html, as find.html, over the first axis all of whose values are numbers; nothing where
/// there is none. Limits are the --fail-if of its runs, else some latencies. `runs`: as
/// `sweep_runs` reads them. Written into `folder`; says so, or that it could not.
void write_sweep_page(const Ledger& ledger, const std::vector<TableRun>& runs,
                      const std::string& folder);

}  // namespace driftless
