#include "cmd/replay/workload/waiting.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/workload/users.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/values.hpp"
#include "engine/schedule/rehearsal.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

int check_waits(const Trace& trace, const GapRules& rules, bool by_users) {
    if (rules.rule == GapRule::start_to_start && trace.rows_laid_out > 0) {
        complain(
            "driftless: --gap start-to-start: %s no recorded start, only a gap after an "
            "answer; use --gap end-to-start",
            counted(trace.rows_laid_out, "row has", "rows have").c_str());
        return exit_input;
    }
    if (by_users || !trace.dependencies.empty()) {
        return exit_done;  // a tree that users play may be one row
    }
    complain(
        "driftless: --sessions closed: no row of the trace says which row it waits for; "
        "remove the flag to send every row at its recorded instant, or use --users N to "
        "send N sessions at a time (--concurrency N: N single rows)");
    return exit_input;
}

std::string gap_note(const GapRules& rules, const GapFigures& figures) {
    std::string note = std::string(name_of(rules.rule)) + ": " +
                       counted(figures.gaps, "recorded gap", "recorded gaps") + ", " +
                       seconds_text(figures.derived_ns) + " in all";
    if (rules.rule == GapRule::none) {
        return note + ", left out";
    }
    if (rules.cap_ns) {
        note += "; " + std::to_string(figures.capped) + " cut to " +
                duration_to_text(*rules.cap_ns) + ", " + seconds_text(figures.kept_ns) + " left";
    }
    if (figures.gaps == 0 && rules.rule == GapRule::end_to_start) {
        note += "; --gap start-to-start keeps the recorded distances of the starts";
    }
    return note;
}

Plan plan_of_waits(const Trace& trace, Plan plan, Speed speed, const UserRules& users) {
    const std::uint64_t waits = digest_of_waits(trace, plan, speed);
    plan.schedule_digest = users.users > 0 ? digest_of_users(users, waits) : waits;
    return plan;
}

// Of users that begin the trace anew, once through it.
Waiting waiting_of(const Trace& trace, const Plan& plan, Speed speed, const UserRules& users,
                   const GapFigures& gaps) {
    WaitFigures figures = waits_of(trace, plan, speed);
    if (users.users == 0) {
        return {figures, gaps, answered_in(trace, plan, speed, token_ns_estimated)};
    }
    UserRules all = users;
    all.users_first = 0;  // as if all of them began at once
    const auto rehearsed = [&](std::int64_t token_ns) {
        return rehearse(trace, plan, Schedule(trace, plan, speed, all), token_ns,
                        std::max(plan.rows.size(), 2 * std::size_t{users.users}));
    };
    figures.least_ns = rehearsed(0).last_due_ns;  // their trees begin whenever they were recorded
    return {figures, gaps, rehearsed(token_ns_estimated)};
}

std::vector<std::string> waiting_notes(const std::optional<Waiting>& waiting, const Plan& plan,
                                       const UserRules& users) {
    std::vector<std::string> notes;
    if (!waiting || users.single_rows) {
        return notes;
    }
    const WaitFigures& waits = waiting->figures;
    const std::string others =
        users.users > 0
            ? counted(plan.rows.size() - waits.rows, "row begins", "rows begin") +
                  " with their trees"
            : counted(plan.rows.size() - waits.rows, "row has", "rows have") + " recorded instants";
    notes.push_back(counted(waits.rows, "row waits", "rows wait") +
                    " for others, due when those have ended; " + others);
    if (waits.outside > 0) {
        notes.push_back(counted(waits.outside, "row waits", "rows wait") +
                        " for rows outside the selection, which count as ended before time 0");
    }
    return notes;
}

std::int64_t last_due_ns(const std::optional<Waiting>& waiting, const Plan& whole) {
    return waiting ? waiting->figures.last_due_ns : whole.last_due_ns;
}

std::string length_of_closed(const Waiting& waiting) {
    return "at least " + seconds_text(waiting.figures.least_ns) + " (recorded gaps alone), " +
           seconds_text(waiting.answered.last_due_ns) + " if an output token takes " +
           std::to_string(token_ns_estimated / 1'000'000) + " ms";
}

const Plan& plan_to_estimate(const Workload& workload) {
    if (workload.share) {
        return workload.share->estimated;
    }
    return workload.waiting ? workload.waiting->answered : workload.plan;
}

Schedule schedule_of(Speed speed, const Workload& workload, const Plan& plan,
                     const EarlierRows& earlier, const UserRules& users, const LiveTurns* live) {
    if (users.users > 0) {
        return {workload.trace, plan, speed, users, live};
    }
    return workload.waiting ? Schedule(workload.trace, plan, speed, earlier, live) : Schedule(plan);
}

}  // namespace driftless
