/// What the flags of `replay` mean to the parts of a run: the engine, the writer and the summary.
/// Plain functions from values to values.
#pragma once

#include <cstdint>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run/host_choice.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "engine/record/assembler.hpp"
#include "engine/replay/settings.hpp"
#include "engine/rules/rule_facts.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

ReplaySettings settings_of(const ReplayOptions& options, const Plan& plan, const HostChoice& host);

/// `requests_end`: of users (AssemblerConfig); 0: there are none.
AssemblerConfig assembler_config(const RunFile& file, const Plan& plan, std::uint32_t requests_end);

/// All but the verdict and what the end adds. `zero_utc_ns`: time 0 of the run.
SummaryInfo summary_info(const RunFile& file, std::int64_t zero_utc_ns);

/// What rules ask of a run that has ended.
RuleFacts rule_facts(const RunFile& file, const RunEnd& end);

}  // namespace driftless
