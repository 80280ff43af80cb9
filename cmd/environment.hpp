/// Secrets in the environment: read once, then gone from the block that /proc/PID/environ and core
/// dumps show. Only for the beginning of a process, while it has one thread.
#pragma once

#include <string>

namespace driftless {

/// Overwrites the value of every `name` in the environment, and takes the name away: whoever asks
/// for it later, or starts a process, finds none. A copy that a caller made stays. The
/// environment of the shell that started us is not changed.
void wipe_variable(const std::string& name);

}  // namespace driftless
