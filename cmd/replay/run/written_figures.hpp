/// What the files of a run hold after its writer failed: records that are in no file are nobody's.
#pragma once

#include <optional>
#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

/// Replaces the figures of a run, by which so many rows were fired, by those of the records in
/// `folder`, as `driftless report` reads them, and says how many rows have none. Nothing where they
/// cannot be read.
void read_written(const std::string& folder, SummaryFigures& figures,
                  std::optional<Unfinished>& unfinished);

}  // namespace driftless
