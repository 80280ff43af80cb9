/// TableRun: one run of a table, by its summary.json alone: its keys, what came of it, and whether
/// all played the same work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/runs/cell.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// Keys of a run: what its summary.json says of the load and of the corpus, each as a name and a
// text. Pure.
//
// The corpus is what must be equal among the runs of a table: trace, window and what is made of
// its rows. The load is what people vary on purpose: server, model, pace, users. The cache salt is
// neither: with another salt prompts have other words, and share the same.

/// Names as replay's flags have them, without dashes. Of a value that is not set the text is empty.
std::vector<CellValue> load_keys(JsonValue summary);

/// Trace and window first: what no sweep can excuse.
std::vector<CellValue> corpus_keys(JsonValue summary);
bool is_of_window(std::string_view corpus_key);

/// "trace_digest", as a reader of messages knows it: "trace", "--seed".
std::string words_of_key(std::string_view key);

/// The text under `name`; empty: none.
std::string_view value_in(const std::vector<CellValue>& values, std::string_view name);
bool has_value(const std::vector<CellValue>& values, std::string_view name);

// TableRun: one run of a table, by its summary.json alone: what was run, what came of it, and
// whether its figures count. Of a cell of a sweep, sweep.json says what became of it.

/// Runs of one table, cells of sweeps counted.
inline constexpr std::size_t table_runs_max = 1000;

struct TableRun {
    std::string folder;  ///< path from here
    std::string name;    ///< the last part of it
    std::string sweep;   ///< folder of its sweep, without a slash at the end; empty: none
    std::string cell;    ///< "speed=2 users=8"; empty: of no sweep
    std::vector<CellValue> values;  ///< what the sweep varied
    std::vector<CellValue> load;    ///< what may differ: server, pace, users
    std::vector<CellValue> corpus;  ///< what may not
    std::vector<std::pair<std::string, std::string>> labels;
    std::optional<CellSummary> summary;  ///< nothing: it has none
    /// E2E by output token, ms, of requests that are ok; nothing until read_e2e_per_token.
    std::optional<Distribution> e2e_per_token;
    std::string prompts_digest;  ///< of run.json; empty: not known
    std::string run_id;          ///< of run.json; empty: not known
    std::string outcome;         ///< "completed", "spoiled", "stopped", "killed", ..
    /// Why its figures are in no mean and on no frontier: one line; empty: they are.
    std::string left_out;

    bool counts() const { return summary && left_out.empty(); }
    /// A label, or nothing.
    std::optional<std::string> label(std::string_view key) const;
};

/// Reads folders of runs and of sweeps, in the order given; of a sweep all of its cells. Returns
/// what is wrong, with the remedy, or the empty text. A run without a summary.json is not an error:
/// its `left_out` says so.
std::string read_table_runs(const std::vector<std::string>& folders, std::vector<TableRun>& out);

/// What a summary says about itself: fills all that does not come from a folder or a sweep.
void describe_run(TableRun& run);

// Whether runs played the same work, as far as a table needs it. Pure.
//
// Equal must be: the trace (its digest), the window of it (--start, --end, --duration, --limit,
// and the number of rows that this selects), and what rows are made into (seed, kind of prompts,
// lengths of answers, sampling, dataset ..). Different may be: the server and its model, the pace
// (--speed, --rate ..), users, copies (--replicate), limits, the cache salt. What a sweep varied
// on purpose may differ among its cells, but for trace and window. Where two runs agree in all
// that sets the pace, so must the digests of their schedules, and of their prompts where the salts
// and servers agree, too.

/// For each run that is not of the corpus of the first one that has a summary: one line with the
/// reason, beginning with its folder.
std::vector<std::string> corpus_differences(const std::vector<TableRun>& runs);

}  // namespace driftless
