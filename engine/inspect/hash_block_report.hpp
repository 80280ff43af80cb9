/// The hash-block report: per request, what a prefix cache without limits hits, and what a set of
/// blocks without order would.
///
/// The JSON that `simulate_hash_block_mode.py` of InferenceX (pull request 993) writes for traces
/// of the kv-cache-tester, key by key, for traces of every format: one file gives the report with
/// its requests; several give sums and a summary each. As there, every file is a cache of its own,
/// requests come in file order, and those of sub-agents (sessions named PARENT/AGENT) are left out,
/// though each sub-agent counts in `req`, the place in the file. Added to each request: what it
/// keeps of the one before it (`kept`, `removed`, `new` in blocks, `kept_tokens`, and `full_reset`
/// where it keeps nothing), as that program's older schema had it.
#pragma once

#include <string>
#include <string_view>

#include "proto/trace/row.hpp"

namespace driftless {

/// Appends the report. `origin` is the file or folder as it was named.
void append_hash_block_report(std::string& out, const Trace& trace, std::string_view origin);

}  // namespace driftless
