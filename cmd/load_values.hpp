/// Values of the flags that make more or less load of a trace, and what is said about them.
///
/// Pure. The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/values.hpp"
#include "engine/plan/load.hpp"

namespace driftless {

/// "session" or "all".
Result<Sharing> parse_sharing(std::string_view text);
/// "0.1" or "10%"; a share of 1 is no sample at all.
Result<std::optional<Share>> parse_sample(std::string_view text);
/// 1 ... 1,000,000.
Result<Copies> parse_copies(std::string_view text);

/// A line for each thing that was done to the trace; none where it is as it was read.
std::vector<std::string> load_notes(const LoadFigures& figures);
/// Why `apply_load` refused, and the remedy.
const char* load_refusal(const Error& error);

}  // namespace driftless
