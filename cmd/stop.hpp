/// How often the user has asked to stop: SIGINT, SIGTERM and SIGHUP, counted. The one thing in the
/// program that a signal handler touches.
#pragma once

#include <atomic>

namespace driftless {

/// From here on SIGINT, SIGTERM and SIGHUP end the process with exit code 130, at once; and SIGPIPE
/// and SIGXFSZ are ignored.
void catch_stop_signals();

/// From here on the first two are counted instead, for those who look at the count: handlers
/// interrupt system calls, so a sleeping loop wakes. Only the third ends the process.
void count_stop_requests();

/// The count. Lock-free; lives as long as the program.
const std::atomic<int>& stop_requests();

}  // namespace driftless
