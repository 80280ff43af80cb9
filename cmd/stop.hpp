/// How often the user has asked to stop: SIGINT and SIGTERM, counted. The one thing in the program
/// that a signal handler touches.
#pragma once

#include <atomic>

namespace driftless {

/// Counts SIGINT and SIGTERM from here on instead of dying of them, and ignores SIGPIPE. Handlers
/// interrupt system calls, so a sleeping loop wakes.
void catch_stop_signals();

/// The count. Lock-free; lives as long as the program.
const std::atomic<int>& stop_requests();

}  // namespace driftless
