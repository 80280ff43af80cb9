#include "cmd/replay/workload/waiting.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

std::string seconds_text(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / 1e9);
    return text;
}

}  // namespace

int close_workload(const ReplayOptions& options, Workload& workload) {
    if (options.workload.files.sessions != Sessions::closed) {
        return exit_done;
    }
    if (workload.trace.dependencies.empty()) {
        std::fprintf(stderr,
                     "driftless: --sessions closed: no row of the trace says which row it waits "
                     "for; remove the flag, and every row is sent at its recorded instant\n");
        return exit_input;
    }
    const Speed speed = options.workload.plan.speed;
    workload.closed = true;
    workload.waits = waits_of(workload.trace, workload.plan, speed);
    workload.answered = answered_in(workload.trace, workload.plan, speed, token_ns_estimated);
    workload.plan.schedule_digest = digest_of_waits(workload.trace, workload.plan, speed);
    return exit_done;
}

std::vector<std::string> waiting_notes(const Workload& workload) {
    std::vector<std::string> notes;
    if (!workload.closed) {
        return notes;
    }
    const WaitFigures& waits = workload.waits;
    notes.push_back(counted(waits.rows, "row waits", "rows wait") +
                    " for others and are due when those have ended; " +
                    counted(workload.plan.rows.size() - waits.rows, "row has", "rows have") +
                    " recorded instants");
    if (waits.outside > 0) {
        notes.push_back(counted(waits.outside, "row waits", "rows wait") +
                        " for rows that are not selected, and takes them for ended before time 0");
    }
    return notes;
}

std::int64_t last_due_ns(const Workload& workload, const Plan& whole) {
    return workload.closed ? workload.waits.last_due_ns : whole.last_due_ns;
}

std::string length_of_closed(const Workload& workload) {
    return "at least " + seconds_text(workload.waits.least_ns) + " (recorded gaps alone), " +
           seconds_text(workload.answered.last_due_ns) + " if an output token takes " +
           std::to_string(token_ns_estimated / 1'000'000) + " ms";
}

const Plan& plan_to_estimate(const Workload& workload) {
    return workload.closed ? workload.answered : workload.plan;
}

Schedule schedule_of(const ReplayOptions& options, const Workload& workload, const Plan& plan,
                     const EarlierRows& earlier) {
    return workload.closed ? Schedule(workload.trace, plan, options.workload.plan.speed, earlier)
                           : Schedule(plan);
}

}  // namespace driftless
