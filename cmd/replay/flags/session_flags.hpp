/// What the flags of closed sessions and of users mean together. Prints nothing.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Users play closed sessions: sets that. Returns one line that says what is wrong and what to do,
/// or the empty text.
std::string complete_sessions(WorkloadFlags& workload, OutputRule output);

}  // namespace driftless
