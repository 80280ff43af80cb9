/// AIPerf's conversations of several turns (`multi_turn`): an object a session, a question a turn.
///
/// `{"session_id":"s","turns":[{"text":"..","timestamp":0},{"text":"..","delay":2000}]}`: times in
/// ms, answers unknown, so each row holds its new messages alone (Trace::deltas). A first turn of
/// the role system that has nothing but text stands before the first question. Source:
/// ai-dynamo/aiperf, src/aiperf/dataset/loader/{multi_turn,models}.py.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat aiperf_turns_format;

}  // namespace driftless
