/// MLPerf's agentic datasets: JSONL, one message of a conversation a row, with `conversation_id`,
/// `turn` from 1 on and `role`.
///
/// Each row of a user or of a tool is a request: the messages recorded before it, and its own. The
/// answers in it are the recorded ones. It waits for the answer to the request before it and for
/// `delay_seconds`; there are no times of arrival and no token counts. Rows of a conversation stand
/// together and in order. Source: mlcommons/endpoints, its dataset schema (2026).
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat mlperf_format;

}  // namespace driftless
