/// Taint: why a record says less about the server than the others do: we sent the row late, read
/// its tokens late, or lost a part of it. Pure functions of plain values.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "engine/record/event.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Beyond these a row is tainted; 0: no limit. The drift that is allowed grows by `rank_ns` for
/// each row of the same instant that goes before: one core sends one after another.
struct TaintLimits {
    std::int64_t drift_ns = 0;
    std::int64_t rank_ns = 0;
    std::int64_t receive_delay_ns = 0;
    std::int64_t wire_ns = 0;  ///< from the end of the call that fires to the wire
};

/// How many rows of the same due instant go before this one. `position` is a row of the plan.
std::uint32_t rank_in_instant(const Plan& plan, std::uint32_t position);

/// Fills `record.tainted` once all else of the record is known. A row that `--max-inflight` held
/// back was late because the user wanted it: no taint.
void add_taints(Record& record, const EndInfo& end, bool lost_payload, const TaintLimits& limits,
                std::uint32_t rank);

}  // namespace driftless
