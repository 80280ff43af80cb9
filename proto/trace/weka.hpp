/// Agentic coding traces of kv-cache-tester ("Weka"): a JSON object is a conversation, with a file
/// of its own or a line in a JSONL file. `requests` have `t` in seconds from the conversation's
/// start, `in`, `out`, and `hash_ids` of 64 tokens that name whole blocks; its derivatives name the
/// partial one too, which each conversation shows by its counts.
///
/// Ids are valid inside one conversation only. Sub-agents, entries with requests of their own,
/// become sessions beside their parent; their times count from the sub-agent's start or from the
/// conversation's, as the first one shows. Agents that were recorded in one list with others are
/// separated into chains if sessions are closed (flat_agents.hpp). Conversations have no arrival
/// times: they are read under `--sessions open` and `closed` only, which start every one at 0.
/// Source: callanjfox/kv-cache-tester; trace-formats section 3.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat weka_format;

}  // namespace driftless
