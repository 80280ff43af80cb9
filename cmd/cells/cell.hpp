/// One cell: an ordinary `driftless replay` as a child process, with a run folder of its own, from
/// its start to what came of it. `sweep` and `find` play their cells through this and nothing else.
/// Prints nothing; needs `count_stop_requests` to have been called.
///
/// Beside the run folder `DIR` are `DIR.stdout` and `DIR.stderr`: what the replay said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/cells/cell_summary.hpp"

namespace driftless {

/// A value that a cell sets: a flag of replay without its dashes ("speed"), or any other name that
/// hooks know.
struct CellValue {
    std::string name;
    std::string value;
};

struct Cell {
    std::vector<std::string> arguments;  ///< of `driftless replay`, all but --out
    std::string folder;                  ///< of the run: nothing may be there
};

enum class CellOutcome : std::uint8_t {
    completed,    ///< exit code 0, and the client did not spoil it
    threshold,    ///< exit code 8: a --fail-if holds, or a --stop-when did
    spoiled,      ///< the client, the host or the network did (the verdict), or exit code 6 for it
    failed,       ///< any other exit code, or a signal
    interrupted,  ///< exit code 130, or the user asked to stop
};
const char* name_of(CellOutcome outcome);

struct CellEnd {
    CellOutcome outcome = CellOutcome::failed;
    std::string why;     ///< one line; empty: completed
    int exit_code = -1;  ///< of the replay; -1: it was not started, or a signal ended it
    int signal = 0;      ///< ... this one; 0: none
    std::optional<CellSummary> summary;  ///< none where the run wrote none

    bool killed() const { return signal != 0; }
};

/// Runs a cell to its end. The first two requests to stop (SIGINT, SIGTERM, SIGHUP) that come while
/// it runs are passed on to the replay: at the first it drains, at the second it cancels. Makes the
/// folders above the run folder. If the host refuses something, the cell has failed, too.
CellEnd run_cell(const Cell& cell);

/// The environment of a cell's hooks: ours, and DRIFTLESS_SPEED=2 for the value "speed", dashes as
/// underscores; DRIFTLESS_URL where there is one; DRIFTLESS_CELL, its name; DRIFTLESS_RUN, its
/// folder.
std::vector<std::string> cell_environment(const std::vector<CellValue>& values,
                                          const std::string& url, const std::string& name,
                                          const std::string& folder);

}  // namespace driftless
