/// Whether the servers counted the requests and tokens of this run, and those alone. Pure.
#pragma once

#include <string>

namespace driftless {

struct SummaryFigures;
struct SummaryInfo;

/// A sentence for people with both figures and the likely cause; empty: nothing can be said, or all
/// is well. It speaks only of what the servers count, where each page was read each time and the
/// run is whole; of too few only where every page is of a server of the run.
std::string server_counts_warning(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
