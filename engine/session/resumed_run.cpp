#include "engine/session/resumed_run.hpp"

#include "proto/core/check.hpp"

namespace driftless {

Plan ResumedRun::remaining_plan() const {
    Plan plan = whole.plan;
    plan.rows = remaining.send;
    return plan;
}

std::vector<Record> ResumedRun::interrupted(const AssemblerConfig& config) const {
    CHECK(config.segment == segment());
    return interrupted_records(whole, remaining, config);
}

ResumedRun resume_run(const Trace& trace, const Plan& whole, const Past& past,
                      const std::vector<RunSegment>& segments, const FiredMarks* marks,
                      bool resend) {
    CHECK(!segments.empty());
    const std::int64_t first_due_ns = segments.back().first_due_ns;
    RemainingRows remaining = remaining_rows({trace, whole, past, marks, first_due_ns}, resend);
    return {{trace, whole, past, nullptr, first_due_ns}, segments, std::move(remaining)};
}

}  // namespace driftless
