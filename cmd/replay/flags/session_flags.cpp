#include "cmd/replay/flags/session_flags.hpp"

namespace driftless {

namespace {

std::string gap_contradiction(const WorkloadFlags& workload) {
    if (workload.gap == GapRule::none && workload.gap_cap_ns) {
        return "--gap none leaves no gap for --gap-cap to shorten: remove one";
    }
    if ((!workload.gap && !workload.gap_cap_ns) || workload.files.sessions == Sessions::closed) {
        return "";
    }
    return std::string(workload.gap ? "--gap" : "--gap-cap") +
           " is about turns that wait for answers, and no row waits: add --sessions closed";
}

/// Users play closed sessions; what shapes them is nothing without them.
std::string complete_users(WorkloadFlags& workload) {
    UserRules& users = workload.users;
    if (users.users == 0) {
        const char* const flag = users.ramp_ns > 0               ? "--user-ramp"
                                 : users.order != TreeRule::file ? "--session-order"
                                 : users.recycle                 ? "--recycle"
                                 : users.for_ns                  ? "--for"
                                                                 : nullptr;
        return flag == nullptr ? "" : std::string(flag) + " is for users: give --users N, too";
    }
    if (workload.files.sessions == Sessions::open) {
        return "--users plays closed sessions and --sessions open does not wait for answers: give "
               "one";
    }
    if (users.recycle && !users.for_ns) {
        return "--recycle begins the trace anew again and again: give --for T, which ends the run";
    }
    if (users.for_ns && users.ramp_ns >= *users.for_ns) {
        return "--user-ramp is not shorter than --for: give less";
    }
    workload.files.sessions = Sessions::closed;
    users.seed = workload.plan.seed;
    return "";
}

}  // namespace

std::string complete_sessions(WorkloadFlags& workload, const SendingFlags& sending) {
    if (sending.drain_ns && !workload.users.for_ns) {
        return "--drain is the time behind the end of --for: give --for T, too";
    }
    const std::string why = complete_users(workload);
    return why.empty() ? gap_contradiction(workload) : why;
}

}  // namespace driftless
