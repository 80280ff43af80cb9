/// ResumedRun: a run that was killed and is resumed: what it left behind, and what becomes of its
/// rows. A plain value, made once; what it refers to outlives it.
///
/// The run goes on at the due instant of the first row that is still to be sent, on the same
/// timeline: due and stamps count from the time 0 of the run, which lies in the past.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/history/past.hpp"
#include "engine/history/remaining_rows.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/plan/plan.hpp"
#include "engine/record/fill_record.hpp"
#include "engine/record/fired_marks.hpp"
#include "proto/record/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct ResumedRun {
    InterruptedRun whole;              ///< its marks are not kept: null
    std::vector<RunSegment> segments;  ///< those that were killed, in order; at least one
    RemainingRows remaining;
    std::string meeting{};  ///< of its first segment, as RunFacts has it

    std::uint32_t segment() const { return static_cast<std::uint32_t>(segments.size()); }
    /// The plan of the rows that are to be sent; none where all had left.
    Plan remaining_plan() const;
    /// The records of the rows that no segment will send; `config` is that of the new segment.
    std::vector<Record> settled(const AssemblerConfig& config) const;
};

/// `segments` are those that its run.json names.
ResumedRun resume_run(const InterruptedRun& run, const std::vector<RunSegment>& segments,
                      bool resend);

}  // namespace driftless
