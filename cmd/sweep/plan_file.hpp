/// A sweep plan in TOML (README.md here), read into values.
#pragma once

#include <string>
#include <string_view>

#include "cmd/sweep/plan.hpp"

namespace driftless {

/// Reads the text of a file over the defaults in `out`. Returns what is wrong with it, as "line 3:
/// gate is not known", or the empty text.
std::string read_plan_file(std::string_view text, SweepPlan& out);

}  // namespace driftless
