/// What the flags of `replay` mean to the parts of a run: the engine, the writer and the summary.
/// Plain functions from values to values.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run/host_choice.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/record/assembler.hpp"
#include "engine/replay/settings.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

ReplaySettings settings_of(const ReplayOptions& options, const Plan& plan, const HostChoice& host);

AssemblerConfig assembler_config(const ReplayOptions& options, const Workload& workload,
                                 const Plan& plan, const RunFile& file);

/// All but the verdict and what the end adds.
SummaryInfo summary_info(const ReplayOptions& options, const Workload& workload,
                         const RunFile& file);

}  // namespace driftless
