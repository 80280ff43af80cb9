#include "engine/session/resumed_run.hpp"

#include "proto/core/check.hpp"

namespace driftless {

Plan ResumedRun::remaining_plan() const {
    Plan plan = whole.plan;
    plan.rows = remaining.send;
    return plan;
}

std::vector<Record> ResumedRun::settled(const AssemblerConfig& config) const {
    CHECK(config.segment == segment());
    return settled_records(whole, remaining, config);
}

ResumedRun resume_run(const InterruptedRun& run, const std::vector<RunSegment>& segments,
                      bool resend) {
    CHECK(!segments.empty());
    const InterruptedRun whole{run.trace,  run.plan, run.past, nullptr, run.last_first_due_ns,
                               run.closed, run.speed};
    return {whole, segments, remaining_rows(run, resend)};
}

}  // namespace driftless
