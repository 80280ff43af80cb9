// Plans of simulated runs, and the marks of their rows.
#include <unistd.h>

#include <string>
#include <utility>

#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

Plan plan_of(const Trace& trace, const SimOptions& options) {
    PlanOptions plan_options;
    plan_options.seed = options.seed;
    Result<Plan> plan = make_plan(trace, plan_options);
    CHECK(static_cast<bool>(plan));
    if (options.arrivals) {
        ArrivalRules rules = *options.arrivals;
        if (options.bug == Bug::other_rate) {
            rules.curve = RateCurve(rules.curve.last_rate() * 1.001);
        }
        plan = arrive(rules, trace, std::move(plan).value());
        CHECK(static_cast<bool>(plan));
    }
    if (options.dual) {
        plan = dual_plan(trace, std::move(plan).value(), options.seed);
        CHECK(static_cast<bool>(plan));
    }
    if (options.bug == Bug::planned_twice) {
        plan.value().rows[1].row = plan.value().rows[0].row;
    }
    return std::move(plan).value();
}

Plan plan_in(const Segment& segment) {
    return segment.resumed != nullptr ? segment.resumed->remaining_plan() : segment.whole;
}

Plan engines_plan(Plan plan, Bug bug) {
    const auto turned = [](Side side) { return side == Side::a ? Side::b : Side::a; };
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        Planned& planned = plan.rows[i];
        planned.due_ns -= bug == Bug::early_engine ? 1'000'000 : 0;
        planned.due_ns += bug == Bug::one_later && i + 1 == plan.rows.size() ? 1 : 0;
        if (bug == Bug::mixed_sides && i / 2 % 3 == 0) {
            planned.side = Side::a;
        } else if (bug == Bug::fair_no_more && i % 2 == 0 && planned.side == Side::b) {
            planned.side = turned(planned.side);
            plan.rows[i + 1].side = turned(plan.rows[i + 1].side);
        }
    }
    return plan;
}

FiredMarks marks_of(std::size_t rows) {
    const std::string name = "sim-" + std::to_string(::getpid());
    Result<FiredMarks> marks = FiredMarks::create(name, rows);
    CHECK(static_cast<bool>(marks));
    FiredMarks::remove(name);
    return std::move(marks).value();
}

std::vector<std::uint32_t> marked_rows(const Trace& trace, const FiredMarks& marks) {
    std::vector<std::uint32_t> marked;
    for (std::uint32_t at = 0; at < trace.rows.size(); ++at) {
        if (marks.marked(at)) {
            marked.push_back(trace.rows[at].index);
        }
    }
    return marked;
}

std::set<std::uint64_t> marked_sendings(const Trace& trace, const Plan& plan,
                                        const FiredMarks& marks) {
    std::set<std::uint64_t> marked;
    for (const Planned& planned : plan.rows) {
        if (marks.marked(mark_of(planned.row, planned.side))) {
            marked.insert(sending_number(trace.rows[planned.row].index, 0, planned.side));
        }
    }
    return marked;
}

}  // namespace driftless::sim
