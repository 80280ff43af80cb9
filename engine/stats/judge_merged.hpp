/// The verdict of a merged run: that of its worst shard, and what only all shards together show.
/// Pure.
#pragma once

#include "engine/stats/merged_run.hpp"
#include "engine/stats/summary.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

/// Client-limited: a shard that is missing, rows of one that was killed, or that it sent later,
/// when it was resumed; one that its user stopped; a clock that is known worse than to
/// `clock_error_max_ns`, a time 0 that lies too far from that of the first shard; records or a
/// client that are worse than the verdicts of all shards (`figures` of those records, `client` of
/// all their engines). Uncalibrated at best: a clock that was compared with none.
Judgement judge_merged(const MergedRun& run, const SummaryFigures& figures,
                       const ClientTotals& client);

}  // namespace driftless
