/// LMCache's agentic traces: one call of an agent a row, with its whole list of messages
/// (huggingface.co/datasets/sammshen/lmcache-agentic-traces).
///
/// `pre_gap` is the time in seconds from the answer of the session's call before to this one; there
/// are no times of arrival. Rows of one session stand in order.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat lmcache_format;

}  // namespace driftless
