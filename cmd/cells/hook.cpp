#include "cmd/cells/hook.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "cmd/stop.hpp"
#include "cmd/values.hpp"
#include "engine/host/child.hpp"
#include "engine/time/monotonic.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
// What is asked to end may have a server to stop.
constexpr std::int64_t end_grace_ns = 2 * ns_per_second;
constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t try_ns_max = 30 * ns_per_second;
constexpr std::int64_t try_pause_ns = ns_per_second / 2;

bool asked_to_stop(int stops) {
    return stop_requests().load() > stops;
}

/// Ends a group that is over its time: asked first, then killed.
void end_group(Child& child) {
    child.signal_group(SIGTERM);
    const std::int64_t end = monotonic_ns() + end_grace_ns;
    while (monotonic_ns() < end && !child.wait(end - monotonic_ns())) {
    }
    child.signal_group(SIGKILL);  // those who did not listen, the leader or others
}

HookEnd explain(const Hook& hook, HookOutcome outcome, const std::string& what,
                const std::string& output) {
    const std::string file = output.substr(output.rfind('/') + 1);
    return {outcome, std::string(hook.name) + ": " + what + " (its output: " + file + ")"};
}

HookEnd judge(const Hook& hook, const ChildEnd& end, const std::string& output) {
    if (end.exit_code == 0) {
        return {};
    }
    const std::string what = end.signal != 0 ? "killed by signal " + std::to_string(end.signal)
                                             : "exit code " + std::to_string(end.exit_code);
    return explain(hook, HookOutcome::failed, what, output);
}

}  // namespace

HookEnd run_hook(const Hook& hook, const std::vector<std::string>& environment,
                 const std::string& output, int stops) {
    if (hook.command.empty()) {
        return {};
    }
    const Result<int> file = open_output(output);
    if (!file) {
        return {HookOutcome::failed, std::string(hook.name) + ": cannot write " + output + ": " +
                                         reason_of(file.error())};
    }
    ChildCommand command;
    command.program = "/bin/sh";
    command.arguments = {"sh", "-c", hook.command};
    command.environment = environment;
    command.output = command.messages = file.value();
    Result<Child> child = Child::start(command);
    (void)::close(file.value());
    if (!child) {
        return explain(hook, HookOutcome::failed,
                       "/bin/sh cannot be started: " + reason_of(child.error()), output);
    }
    const std::int64_t end = monotonic_ns() + hook.limit_ns;
    while (monotonic_ns() < end && !asked_to_stop(stops)) {
        if (const std::optional<ChildEnd> ended = child.value().wait(end - monotonic_ns()); ended) {
            return judge(hook, *ended, output);
        }
    }
    end_group(child.value());
    return asked_to_stop(stops)
               ? explain(hook, HookOutcome::stopped, "stopped by the user", output)
               : explain(hook, HookOutcome::timed_out,
                         "killed at its time limit of " + duration_to_text(hook.limit_ns), output);
}

HookEnd run_until_ready(const Hook& hook, const std::vector<std::string>& environment,
                        const std::string& output, int stops) {
    const std::int64_t end = monotonic_ns() + hook.limit_ns;
    HookEnd last;
    do {
        Hook one = hook;
        const std::int64_t left_ms = (end - monotonic_ns() + ns_per_ms - 1) / ns_per_ms;
        one.limit_ns = std::clamp<std::int64_t>(left_ms * ns_per_ms, ns_per_ms, try_ns_max);
        last = run_hook(one, environment, output, stops);
        if (last.outcome == HookOutcome::done || last.outcome == HookOutcome::stopped) {
            return last;
        }
    } while (monotonic_ns() + try_pause_ns < end && pause_ns(try_pause_ns, stops));
    if (asked_to_stop(stops)) {
        return explain(hook, HookOutcome::stopped, "stopped by the user", output);
    }
    const std::string limit = duration_to_text(hook.limit_ns);
    return {HookOutcome::timed_out, "not ready within " + limit + "; last try: " + last.why};
}

bool pause_ns(std::int64_t ns, int stops) {
    const std::int64_t end = monotonic_ns() + ns;
    while (!asked_to_stop(stops)) {
        // A signal that comes just before a sleep does not end it, so that none is long.
        const std::int64_t left = std::min<std::int64_t>(end - monotonic_ns(), ns_per_second / 5);
        if (left <= 0) {
            return true;
        }
        const timespec time{left / ns_per_second, left % ns_per_second};
        (void)::nanosleep(&time, nullptr);
    }
    return false;
}

}  // namespace driftless
