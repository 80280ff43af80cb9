/// Values of the flags of `compare` as people type them. Pure; the `doing` of an Error is a clause
/// with the remedy.
#pragma once

#include <string_view>

#include "engine/comparison/compared_metric.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "1 %", "0.5%", from 0 to 50 %: a share. Errors: invalid.
Result<double> parse_margin(std::string_view text);
/// "ttft:p99", "errors". Errors: invalid.
Result<ComparedMetric> parse_metric(std::string_view text);
/// "pass" or "fail": whether what is unsure fails. Errors: invalid.
Result<bool> parse_unsure(std::string_view text);

}  // namespace driftless
