/// row_outcome: the one outcome of a row, by the precedence that fill_record.hpp lists. Pure;
/// internal to engine/record.
#pragma once

#include "engine/plan/answer_limits.hpp"
#include "engine/record/fill_record.hpp"
#include "engine/record/row_state.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Whether some bytes of the answer never reached the writer.
bool lost_bytes(const RowState& state, const EndInfo& end);

/// Beyond these an answer of this row is over its limit.
AnswerLimits limits_of(const RowState& state, const AssemblerConfig& config);

/// Once the token counts of the record are known.
Outcome outcome_of(const Record& record, const RowState& state, const EndInfo& end,
                   const AssemblerConfig& config);

}  // namespace driftless
