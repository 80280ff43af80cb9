/// JudgedProbe: what one replay of a search says of its load. Reads the files of a run; prints
/// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "cmd/find/slo.hpp"
#include "engine/knee/search.hpp"
#include "engine/knee/stability.hpp"
#include "engine/stats/threshold_finding.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
