/// Whether runs played the same work, as far as a table needs it. Pure.
///
/// Equal must be: the trace (its digest), the window of it (--start, --end, --duration, --limit,
/// and the number of rows that this selects), and what rows are made into (seed, kind of prompts,
/// lengths of answers, sampling, dataset ..). Different may be: the server and its model, the pace
/// (--speed, --rate ..), users, copies (--replicate), limits, the cache salt. What a sweep varied
/// on purpose may differ among its cells, but for trace and window. Where two runs agree in all
/// that sets the pace, so must the digests of their schedules, and of their prompts where the salts
/// and servers agree, too.
#pragma once

#include <string>
#include <vector>

#include "cmd/compare/table/table_run.hpp"

namespace driftless {

/// For each run that is not of the corpus of the first one that has a summary: one line with the
/// reason, beginning with its folder.
std::vector<std::string> corpus_differences(const std::vector<TableRun>& runs);

}  // namespace driftless
