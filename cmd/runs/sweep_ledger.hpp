/// What is known of every cell of a sweep: the ledger and its files, repeats taken together, and
/// the table that people see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/run_folder.hpp"
#include "cmd/runs/sweep.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// Ledger: what is known of every cell of a sweep, and the files that keep it: `sweep.json`,
// written whole after each step, and `sweep.csv`. One process at a time has the folder.

inline constexpr int sweep_schema = 1;

enum class CellState : std::uint8_t {
    pending,  ///< not begun
    running,  ///< begun; in a file that nobody writes any more: cut off
    ended,
};

struct LedgerCell {
    PlannedCell planned;
    CellState state = CellState::pending;
    CellOutcome outcome = CellOutcome::failed;  ///< of an ended one
    std::string why;                            ///< one line; empty: nothing to say
    std::string note;  ///< what else happened, as that the server's counters are not known
    std::optional<bool> warm;
    std::optional<int> exit_code;  ///< of the replay; nothing: it was not started, or killed
    std::string began;             ///< UTC
    std::string verdict;           ///< its name
    std::string summary;           ///< figures, a JSON object; empty: none
    std::vector<std::string> cut_folders;  ///< of earlier tries that were cut off
};

/// Whether the figures of a cell count in averages: it ended by itself, the client did not spoil
/// it, no --stop-when cut it short, and its cache is not known to have been warm.
bool is_averaged(const LedgerCell& cell);

/// The figures of a run that a ledger keeps, as a JSON object.
std::string kept_figures(const CellSummary& summary);

struct Ledger {
    SweepPlan plan;
    std::vector<LedgerCell> cells;  ///< in the order in which they are played
};
Ledger new_ledger(const SweepPlan& plan);

std::string sweep_json(const Ledger& ledger);
std::string sweep_csv(const Ledger& ledger);

/// Reads the text of a `sweep.json`. Returns what is wrong with it, or the empty text.
std::string read_ledger(const std::string& text, Ledger& out);

/// Writes both files into `folder`. Errors: those of the file system.
Result<void> write_ledger(const Ledger& ledger, const std::string& folder);

// Averages: the repeats of each combination of values, taken together. A cell that began warm, was
// spoiled, stopped early or failed is left out, and counted. Pure.

/// A figure of cells that is averaged.
struct AveragedFigure {
    const char* key;  ///< in `summary`
    std::optional<double> mean;
};

struct Average {
    std::string name;  ///< "speed=2 users=8"
    std::vector<CellValue> values;
    std::size_t averaged = 0;  ///< cells
    std::size_t warm = 0;      ///< left out, though they ended well
    std::size_t others = 0;    ///< left out: spoiled, failed, stopped early, not run yet
    std::vector<AveragedFigure> figures;

    std::optional<double> figure(std::string_view key) const;
};

/// In the order of the first repeat.
std::vector<Average> averages_of(const Ledger& ledger);

/// The key `averages` of `sweep.json`.
void write_averages(JsonWriter& json, const std::vector<Average>& averages);

// What people see of a sweep: a line per cell, and a table of all. Pure.

/// "cell 3 of 6  speed=4 users=8  ", without the end of the line.
std::string cell_begins(const Ledger& ledger, std::size_t index);
/// The rest of it: what came of the cell.
std::string cell_ends(const LedgerCell& cell);

/// A row per combination, means of its repeats; below, what is not in them, and why.
std::string sweep_table(const Ledger& ledger);

}  // namespace driftless
