/// Thresholds as people type them (`--fail-if "ttft:p99 > 2s"`), shared by replay and report.
#pragma once

#include <string_view>

#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "ttft:p99 > 2s", "errors > 0.1 %", "completed < 240"; blanks count for nothing. A time needs its
/// statistic and a unit. Errors: invalid; the `doing` is a clause with the remedy.
Result<Threshold> parse_threshold(std::string_view text);

}  // namespace driftless
