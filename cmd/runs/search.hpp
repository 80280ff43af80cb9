/// What a search knows: its SLO, what each of its replays says of it, the screen, and `find.json`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/reading/knee.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/cut_off.hpp"
#include "cmd/runs/find.hpp"
#include "proto/core/result.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

// JudgedProbe: what one replay of a search says of its load. Reads the files of a run; prints
// nothing.

/// What a run at one load came to.
enum class ProbeOutcome : std::uint8_t {
    meets,
    fails,
    spoiled,    ///< the verdict blames the client, the host or the network: thrown away
    too_short,  ///< fewer rows than a percentile needs: thrown away
};
/// "meets", "fails", "spoiled", "too short"
const char* name_of(ProbeOutcome outcome);

struct JudgedProbe {
    KneeProbe probe;
    ProbeOutcome outcome = ProbeOutcome::spoiled;
    std::string run;         ///< its folder, below that of the search
    std::string verdict;     ///< as summary.json has it
    std::string why;         ///< the condition that fails most, or why it was thrown away
    std::string binds;       ///< that condition, or "stability"; empty unless it fails
    double seconds = 0;      ///< wall time of the replay with its start
    std::uint64_t rows = 0;  ///< that were sent and are not of a warm-up
    std::vector<ThresholdFinding> findings;  ///< one per SLO, in their order
    StabilityFinding stability;
    std::vector<std::string> cut_folders;  ///< of earlier tries that were cut off
};

/// What `binds` says if the load was not stable.
inline constexpr std::string_view stability_slo = "stability";

/// Whether a run that ended so says anything about its load. If not, the search cannot go on.
bool can_be_judged(const CellEnd& end);

/// Fills what the run in `folder`, which ended so, says of its load. Only where it can be judged.
/// Errors: those of `requests.jsonl`, which is read.
Result<void> judge_probe(const CellEnd& end, const std::string& folder, const Slos& slos,
                         JudgedProbe& probe);

/// SearchReport: all that a search knows so far, and what the screen says of it. A value; it writes
/// nothing. `find.json` has the same.
struct SearchReport {
    const FindOptions* options = nullptr;
    std::vector<std::string> command;  ///< as typed; it holds no secret
    std::string home;                  ///< absolute: paths go by this folder
    std::vector<KeptTrace> traces;     ///< that probes name
    Knee knee;
    std::string state;  ///< of the search; or "interrupted", "stopped"
    std::string why;    ///< of "stopped": what ended it
    double seconds = 0;
    std::vector<JudgedProbe> probes;
};

/// The condition that fails at the lowest load that failed; empty where none did.
std::string binding(const SearchReport& report);

/// One line about a probe that has ended.
std::string probe_line(const SearchReport& report, const JudgedProbe& probe);

/// The result, several lines.
std::string result_lines(const SearchReport& report);

// `find.json`: what a search keeps of itself after each probe, and what it is to go on with after
// it was killed. Pure.

inline constexpr int find_schema = 2;

/// The text of `find.json` (find.schema.json).
std::string find_json(const SearchReport& report);

/// What `--resume` needs of it.
struct KeptSearch {
    std::vector<std::string> command;  ///< of the search: it has all flags
    std::string home;
    std::vector<KeptTrace> traces;
    double seconds = 0;
    /// In order. Their loads have the digits of the file, and their purposes are not told: the
    /// search says again what it asked for.
    std::vector<JudgedProbe> probes;
};

/// Reads the text of a `find.json`. Returns what is wrong with it, or the empty text.
std::string read_search(const std::string& text, KeptSearch& out);

}  // namespace driftless
