/// Thresholds as people type them (`--fail-if "ttft:p99 > 2s"`), shared by replay and report.
#pragma once

#include <string_view>

#include "engine/stats/stop_rule.hpp"
#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "ttft:p99 > 2s", "errors > 0.1 %", "completed < 240"; blanks count for nothing. A time needs its
/// statistic and a unit. Errors: invalid; the `doing` is a clause with the remedy.
Result<Threshold> parse_threshold(std::string_view text);
/// The same as somebody types it now: one that no run decides is refused.
Result<Threshold> parse_fail_if(std::string_view text);

/// "ttft:p99", "errors": what a threshold measures, without a bound. Errors as above.
Result<Threshold> parse_figure(std::string_view text);

/// "errors > 5 %", "ttft:p99 > 10s for 30s": a threshold of a figure that is known while a run goes
/// on, and how long it has to hold. Errors as above.
Result<StopRule> parse_stop_rule(std::string_view text);

}  // namespace driftless
