/// What the files of a run hold after its writer failed: records that were not written do not
/// count.
#pragma once

#include <optional>
#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

/// Replaces the figures of a run, which count all rows that were fired, by those of the records in
/// `folder`, as `driftless report` reads them, and says how many rows have no record. Does nothing
/// if the records cannot be read.
void read_written(const std::string& folder, SummaryFigures& figures,
                  std::optional<Unfinished>& unfinished);

}  // namespace driftless
