/// What the flags of closed sessions and of users mean together. Prints nothing.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Users play closed sessions: fills that in. Returns one line that says what is wrong and what
/// fixes it, or the empty text.
std::string complete_sessions(WorkloadFlags& workload, OutputRule output);

}  // namespace driftless
