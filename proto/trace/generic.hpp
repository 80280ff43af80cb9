/// Any CSV with a header or JSON lines, by the columns that `--map` names.
///
/// Keys of the map: time, in, out (needed), hashes, session, turn, delay. What is not mapped is
/// looked up under the key's own name. A JSON column may be a path ("usage.prompt_tokens"). Times
/// are in `--time-unit`; without it, ISO-8601 and epochs are known by their looks, and relative
/// numbers are refused. Ids are numbers, or strings that are hashed; a CSV cell holds them between
/// blanks, commas or semicolons. Block size and rule are found on the data.
#pragma once

#include <span>
#include <string_view>

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat generic_format;

/// What `--map` may name on its left.
std::span<const std::string_view> map_keys();

}  // namespace driftless
