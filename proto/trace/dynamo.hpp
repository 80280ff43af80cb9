/// Dynamo's request trace (`dynamo.request.trace.v1`): JSONL, one event a line, of which the ends
/// of requests are rows: `request_received_ms` (epoch), lengths, and sequence hashes of 64 bits.
///
/// Lines stand in the order of completion and are sorted; segments of one log share their ids,
/// sessions and block size. Markers and events of tools are skipped. Source: ai-dynamo/dynamo;
/// trace-formats section 10.1.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat dynamo_format;

}  // namespace driftless
