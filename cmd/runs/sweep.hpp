/// `driftless sweep`: a trace played once for each combination of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/runs/cell.hpp"
#include "cmd/runs/cut_off.hpp"

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

struct SweepHook {
    std::string command;  ///< empty: none
    std::int64_t limit_ns = 0;
};

struct SweepPlan {
    std::string home;                    ///< absolute: paths and hooks go by this folder
    std::vector<KeptTrace> traces;       ///< that cells name
    std::vector<std::string> arguments;  ///< of every replay: TRACE.., flags
    std::vector<SweepAxis> axes;
    std::uint64_t repeat = 1;
    std::vector<std::pair<std::string, std::string>> labels;
    SweepHook before;
    SweepHook ready;
    SweepHook after;
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

// What the user asked of `driftless sweep`. Parsing reads the plan's file and no other.

struct SweepCommand {
    SweepPlan plan;      ///< complete and checked; empty with `resume`
    std::string out;     ///< folder of the sweep; empty: the default
    std::string resume;  ///< folder of one that was cut off
    bool dry_run = false;
};

struct SweepCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    SweepCommand command;
};

/// Parses everything after the command's name; flags of replay stand behind "--".
SweepCommandLine parse_sweep_options(const std::vector<std::string>& arguments);

// A sweep plan in TOML (README.md here), read into values.

/// Reads the text of a file over the defaults in `out`. Returns what is wrong with it, as "line 3:
/// gate is not known", or the empty text.
std::string read_plan_file(std::string_view text, SweepPlan& out);

}  // namespace driftless
