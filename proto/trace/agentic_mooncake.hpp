/// Dynamo's agentic Mooncake, version 2: JSONL, a header with `block_size`, then rows with
/// `not_before_ms`, lengths, `hash_ids` and `dependencies` on other rows.
///
/// Ids hold inside a play (`play_id`). A row that depends on others has no arrival time of its own:
/// it is read under `--sessions open` and `closed` only, which lay it out by the recorded delays,
/// as if answers took no time; under `closed` it then waits for those others alone. Source:
/// ai-dynamo/dynamo; trace-formats section 10.2.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat agentic_mooncake_format;

}  // namespace driftless
