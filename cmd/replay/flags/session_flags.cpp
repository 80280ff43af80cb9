#include "cmd/replay/flags/session_flags.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace driftless {

namespace {

std::string gap_contradiction(const WorkloadFlags& workload) {
    if (workload.gap == GapRule::none && workload.gap_cap_ns) {
        return "--gap none leaves no gaps for --gap-cap to shorten; remove one";
    }
    if ((!workload.gap && !workload.gap_cap_ns) || workload.files.sessions == Sessions::closed) {
        return "";
    }
    return std::string(workload.gap ? "--gap" : "--gap-cap") +
           " applies to turns that wait for answers, but no row waits; add --sessions closed";
}

/// The first flag that shapes users; nullptr where none is given.
const char* flag_of_users(const WorkloadFlags& workload) {
    const UserRules& users = workload.users;
    const std::array<std::pair<bool, const char*>, 14> flags = {{
        {users.ramp_ns > 0, "--user-ramp"},
        {users.order != TreeRule::file, "--session-order"},
        {users.recycle, "--recycle"},
        {users.shares_system, "--recycle-share"},
        {users.tree_barrier, "--barrier"},
        {users.for_ns.has_value(), "--for"},
        {workload.on_failure.has_value(), "--on-failure"},
        {users.failures.waits_for_429, "--on-429 wait"},
        {users.idle.tree_ns.has_value(), "--tree-idle-cap"},
        {users.idle.system_ns.has_value(), "--system-idle-cap"},
        {workload.start_within.has_value(), "--start-within"},
        {users.start.by_turns, "--start-by"},
        {users.start.prime_one_token, "--prime"},
        {users.start.warmup_requests > 0, "--warmup-requests"},
    }};
    for (const auto& [given, name] : flags) {
        if (given) {
            return name;
        }
    }
    return nullptr;
}

/// What is sent before the measurement.
std::string warm_up_contradiction(const WorkloadFlags& workload, OutputRule output) {
    const StartRules& start = workload.users.start;
    if (!start.is_inside() && (start.by_turns || start.prime_one_token)) {
        return std::string(start.by_turns ? "--start-by" : "--prime") +
               " applies to trees that begin inside their recordings; add --start-within A:B";
    }
    if (start.warms_up() && workload.users.ramp_ns > 0) {
        return std::string(start.is_inside() ? "--start-within" : "--warmup-requests") +
               " starts the measurement for all users at once, but --user-ramp spreads the starts; "
               "remove one";
    }
    const bool one_token = start.warmup_requests > 0 || start.prime_one_token;
    if (one_token && output == OutputRule::free) {
        return std::string(start.warmup_requests > 0 ? "--warmup-requests" : "--prime one-token") +
               " asks for one token, but --output free asks for no length; remove one";
    }
    return "";
}

/// Users that are added while the run goes on.
std::string complete_growth(WorkloadFlags& workload) {
    const UserCount& count = workload.user_count;
    const std::string typed =
        "--users " + std::to_string(count.first) + ".." + std::to_string(count.most);
    if (count.first == count.most) {
        return workload.grow
                   ? "--grow adds users; give the smallest and largest number, as in --users 2..64"
                   : "";
    }
    if (!workload.grow) {
        return typed + " is a range, which needs --grow METRIC:LIMIT; add it, or give one number";
    }
    workload.users.users_first = count.first;
    workload.grow->users_first = count.first;
    workload.grow->users_max = count.most;
    return "";
}

/// What is about sessions; nullptr where nothing of it is given.
const char* flag_of_trees(const WorkloadFlags& workload) {
    const UserRules& users = workload.users;
    const std::array<std::pair<bool, const char*>, 12> flags = {{
        {workload.user_count.most > 0, "--users"},
        {workload.grow.has_value(), "--grow"},
        {workload.files.sessions != Sessions::recorded, "--sessions"},
        {users.order != TreeRule::file, "--session-order"},
        {users.shares_system, "--recycle-share"},
        {users.tree_barrier, "--barrier"},
        {users.idle.tree_ns.has_value(), "--tree-idle-cap"},
        {users.idle.system_ns.has_value(), "--system-idle-cap"},
        {workload.start_within.has_value(), "--start-within"},
        {users.start.by_turns, "--start-by"},
        {users.start.prime_one_token, "--prime"},
        {users.start.warmup_requests > 0, "--warmup-requests"},
    }};
    const auto given =
        std::find_if(flags.begin(), flags.end(), [](const auto& one) { return one.first; });
    return given == flags.end() ? nullptr : given->second;
}

/// Single rows are kept open: there is no other time than that of their ends.
std::string loop_contradiction(const WorkloadFlags& workload) {
    if (const char* const flag = flag_of_trees(workload); flag != nullptr) {
        return std::string(flag) +
               " applies to sessions, but --concurrency sends single rows; remove one, or keep N "
               "sessions live with --users N";
    }
    if (workload.plan.duration_ns) {
        return "--duration selects rows by known instants, but --concurrency sends a row when "
               "another has ended; use --for T instead";
    }
    if (workload.plan.spread || workload.speed_text != "1") {
        return std::string(workload.plan.spread ? "--spread" : "--speed") +
               " changes recorded instants, but --concurrency sends a row when another has ended; "
               "remove one";
    }
    const RateFlags& rates = workload.rates;
    if (rates.rate || rates.ramp || !rates.shape_file.empty() || rates.arrivals) {
        return "--concurrency sends a row when another has ended, not at a rate; remove one, or "
               "cap the rate with --max-inflight N";
    }
    return "";
}

/// Users play closed sessions; what shapes them is nothing without them.
std::string complete_users(WorkloadFlags& workload, OutputRule output) {
    UserRules& users = workload.users;
    users.single_rows = workload.concurrency.has_value();
    users.users = workload.concurrency.value_or(workload.user_count.most);
    if (std::string why = users.single_rows ? loop_contradiction(workload) : ""; !why.empty()) {
        return why;
    }
    if (std::string why = complete_growth(workload); !why.empty()) {
        return why;
    }
    if (users.users == 0) {
        const char* const flag = flag_of_users(workload);
        return flag == nullptr
                   ? ""
                   : std::string(flag) + " applies to users; add --users N (or --concurrency N)";
    }
    if (workload.files.sessions == Sessions::open) {
        return "--users replays closed sessions, but --sessions open does not wait for answers; "
               "remove one";
    }
    if (users.recycle && !users.for_ns) {
        return "--recycle repeats the trace without end; add --for T to end the run";
    }
    if (users.shares_system && !users.recycle) {
        return "--recycle-share applies to passes, but the trace is replayed only once; add "
               "--recycle";
    }
    if (users.for_ns && users.ramp_ns >= *users.for_ns) {
        return "--user-ramp is not shorter than --for; shorten it";
    }
    if (workload.on_failure) {
        users.failures.rule = workload.on_failure->rule;
        users.failures.retries_max = workload.on_failure->retries_max;
    }
    if (workload.start_within) {
        users.start.from = workload.start_within->from;
        users.start.to = workload.start_within->to;
    }
    users.start.gap_cap_ns = workload.gap == GapRule::none ? 0 : workload.gap_cap_ns;
    workload.files.sessions = users.single_rows ? Sessions::recorded : Sessions::closed;
    workload.files.times_free = users.single_rows;
    users.seed = workload.plan.seed;
    return warm_up_contradiction(workload, output);
}

}  // namespace

std::string complete_sessions(WorkloadFlags& workload, OutputRule output) {
    if (workload.users.drain_ns && !workload.users.for_ns) {
        return "--drain is the time after the end of --for; add --for T";
    }
    const std::string why = complete_users(workload, output);
    return why.empty() ? gap_contradiction(workload) : why;
}

}  // namespace driftless
