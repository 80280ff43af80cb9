/// Values of the flags that say how a trace is read, shared by all commands that read one.
///
/// Pure. The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// The name of a format of traces, as `trace_format_names` lists it.
Result<std::string> parse_trace_format(std::string_view text);
/// "ns", "us", "ms", "s", "iso" or "auto".
Result<std::string> parse_time_unit(std::string_view text);
/// "time=COLUMN,in=COLUMN,..".
Result<std::vector<MappedColumn>> parse_map(std::string_view text);
/// Takes the column of the key `model` out of a map; empty: it names none. Formats of traces know
/// no models: that key is the replay's.
std::string take_model_column(std::vector<MappedColumn>& map);
/// Why that key is refused by a command that sends nothing; empty: it is not there.
std::string model_column_refusal(std::vector<MappedColumn> map);
/// "chains" or "keep".
Result<FlatAgents> parse_flat_agents(std::string_view text);
/// Why `--flat-agents keep` is refused: nothing waits; empty: it is not.
std::string flat_agents_refusal(FlatAgents agents, Sessions sessions);
/// "file", "all" or "session".
Result<IdScope> parse_hash_scope(std::string_view text);
/// "recorded", "open" or "closed".
Result<Sessions> parse_sessions(std::string_view text);
const char* name_of(Sessions sessions);
/// A format that is written: "canonical" or "mooncake".
Result<const TraceTarget*> parse_trace_target(std::string_view text);

}  // namespace driftless
