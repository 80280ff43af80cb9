/// What `--goodput` takes, on every command that has it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/stats/goodput.hpp"
#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "ttft:200 tpot:50 e2e:3000", milliseconds, blanks or commas between; `e2el` means `e2e`. Errors:
/// invalid.
Result<GoodputLimits> parse_goodput(std::string_view text);
/// Limits of some rows, "tier=gold ttft:200 tpot:50": a key of `--by`, or a name of `kept`, and
/// its value. Errors: invalid.
Result<GoodputRule> parse_group_goodput(std::string_view text);
/// One or the other. Errors: invalid.
Result<GoodputRule> parse_goodput_rule(std::string_view text);

/// What is asked, and what `before` says of other rows.
GoodputRules with_rules(GoodputRules asked, const GoodputRules& before);

/// Why rules for all rows that are given more than once cannot stand together, or the empty text.
std::string repeated_goodput(const GoodputRules& rules);
/// Why a condition that counts good requests cannot be judged where no limits are set, or the empty
/// text.
std::string limits_missing(const std::vector<Threshold>& fail_if);
/// Why the rules cannot stand together in a run that keeps these columns of its trace, or the
/// empty text.
std::string goodput_refusal(const GoodputRules& rules, const std::vector<std::string>& keep);

}  // namespace driftless
