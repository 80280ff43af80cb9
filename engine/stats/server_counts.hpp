/// Whether the servers counted the requests of this run, and those alone. Pure.
#pragma once

#include <string>

namespace driftless {

struct SummaryFigures;
struct SummaryInfo;

/// A sentence for people with the remedy; empty: nothing can be said, or all is well. It speaks
/// only where every page is of a server of the run, was read each time, and the run is whole.
std::string server_counts_warning(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
