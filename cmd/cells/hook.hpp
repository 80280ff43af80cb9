/// Hooks: the user's shell commands around a cell, for example to start a server, to wait until it
/// is ready, to stop it. Each has a time limit; at the limit its whole process group is killed. A
/// process that a hook leaves in the background when it ends keeps running: that is how a hook
/// starts a server. Prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace driftless {

struct Hook {
    const char* name = "";      ///< for messages: before, ready, after. Static storage
    std::string command;        ///< for `/bin/sh -c`; empty: there is none
    std::int64_t limit_ns = 0;  ///< more than 0
};

enum class HookOutcome : std::uint8_t {
    done,       ///< exit code 0, or there is no such hook
    failed,     ///< another exit code, a signal, or it could not be started
    timed_out,  ///< killed at its limit; or not ready before it
    stopped,    ///< killed because the user asked to stop
};

struct HookEnd {
    HookOutcome outcome = HookOutcome::done;
    std::string why;  ///< "before: exit code 3 (see before.txt)"; empty: done
};

/// Runs the hook to its end. Its stdout and stderr go to the file `output`, which is made anew; a
/// process in the background may write there later. `stops` is how often the user has asked to stop
/// so far (`stop_requests`): one more ends the hook.
HookEnd run_hook(const Hook& hook, const std::vector<std::string>& environment,
                 const std::string& output, int stops);

/// Runs the hook repeatedly, with pauses of 0.5 s, until its exit code is 0 or its limit has
/// passed. One try takes at most 30 s. `output` has what the last try printed.
HookEnd run_until_ready(const Hook& hook, const std::vector<std::string>& environment,
                        const std::string& output, int stops);

/// Waits. Returns false at once if the user asks to stop.
bool pause_ns(std::int64_t ns, int stops);

}  // namespace driftless
