/// The requests of a run as other tools would have seen them, for `report --view`.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"
#include "engine/views/view.hpp"

namespace driftless {

/// Of the measurement, by row. Memory: 16 bytes a chunk and about 250 a request. Returns why its
/// records cannot be read, or the empty text.
std::string read_viewed_run(const ReportedRun& run, ViewedRun& out);

}  // namespace driftless
