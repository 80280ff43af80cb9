#include "cmd/replay/workload/rates.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/plan/arrivals.hpp"

namespace driftless {

namespace {

std::string rate_flag_text(const RateFlags& flags) {
    if (flags.rate) {
        return "--rate " + flags.rate->text;
    }
    return flags.ramp ? "--ramp " + flags.ramp->text : "--shape " + flags.shape_file;
}

/// Why they cannot arrive, with the remedy.
std::string arrival_refusal(const RateFlags& flags, const Error& error) {
    const std::string flag = rate_flag_text(flags);
    switch (error.code) {
        case ErrorCode::out_of_range:
            return flag +
                   ": the last selected row would be due after more than 73 years; give a higher "
                   "rate, or select less with --end, --limit or --duration";
        case ErrorCode::not_found:
            return flag +
                   ": no row arrives before the rate ends or within --duration; give more time or "
                   "a higher rate";
        default:
            return "--arrivals recorded: all selected rows have the same recorded instant, so "
                   "there are no gaps to scale; use constant, poisson or gamma:K";
    }
}

}  // namespace

std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Trace& trace,
                                          const Plan& plan) {
    if (!flags.arrivals) {
        return std::nullopt;
    }
    const RateFlags& typed = flags.rates;
    const ArrivalRules& rules = *flags.arrivals;
    ArrivalFacts facts;
    facts.rate = typed.rate   ? typed.rate->text
                 : typed.ramp ? "ramp " + typed.ramp->text
                              : "shape " + typed.shape_file;
    if (typed.rate && !typed.rate->infinite) {
        facts.asked_rate = typed.rate->per_second;
    }
    facts.law =
        rules.all_at_once ? "all at once" : text_of(typed.arrivals.value_or(TypedArrivals()));
    facts.of = rules.by_trees ? "trees" : "rows";
    facts.planned_rate = planned_rate(rules, trace, plan);
    return facts;
}

std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Workload& workload) {
    std::optional<ArrivalFacts> facts = arrival_facts(flags, workload.trace, workload.plan);
    if (facts && workload.share) {
        facts->planned_rate = workload.share->planned_rate;
    }
    return facts;
}

OrExit<Plan> arrive_at_rate(const WorkloadFlags& flags, const Trace& trace, Plan plan) {
    if (!flags.arrivals) {
        return plan;
    }
    Result<Plan> retimed = arrive(*flags.arrivals, trace, std::move(plan));
    if (!retimed) {
        complain("driftless: %s", arrival_refusal(flags.rates, retimed.error()).c_str());
        return exit_input;
    }
    return std::move(retimed).value();
}

void lay_out_loop(Trace& trace, Plan& plan) {
    trace.dependencies.clear();
    for (Planned& planned : plan.rows) {
        planned.due_ns = 0;
    }
    std::sort(plan.rows.begin(), plan.rows.end(), [&](const Planned& a, const Planned& b) {
        return trace.rows[a.row].index < trace.rows[b.row].index;
    });
    plan = summed_up(trace, std::move(plan));
}

std::vector<std::string> arrival_notes(const WorkloadFlags& flags, const Trace& trace,
                                       const Plan& plan) {
    const ArrivalRules& rules = *flags.arrivals;
    const ArrivalFacts facts = *arrival_facts(flags, trace, plan);
    char mean[64] = "";
    if (facts.planned_rate) {
        (void)std::snprintf(mean, sizeof mean, ", %.4g per second on average", *facts.planned_rate);
    }
    std::string note = rate_flag_text(flags.rates) + ", " + facts.law + ": " +
                       (rules.by_trees ? "session trees" : "rows") + " in " +
                       (rules.law == ArrivalLaw::recorded ? "recorded" : "file") + " order, seed " +
                       std::to_string(rules.seed) + mean;
    const bool ends = !rules.all_at_once && !rules.over_rows && rules.curve.last_rate() == 0;
    if (ends && plan.rows_outside > 0) {
        note += "; the rate ends at 0, so rows that do not arrive before are not sent";
    }
    return {note};
}

}  // namespace driftless
