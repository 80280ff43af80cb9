/// `--perfetto FILE`: a run as a trace for ui.perfetto.dev: a track per lane with its requests and
/// their stages, how late each row left, and the events of the run.
///
/// Instants are UTC in ns, so that the traces of several runs lie beside each other. A record
/// becomes one slice, with all that the record says; what is not known of it is left out.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// Never writes over a file. Returns the exit code; what failed is printed.
int write_perfetto(const ReportedRun& run, const std::string& path);

}  // namespace driftless
