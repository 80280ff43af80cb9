/// Notes: what a person should know of a trace before it is replayed, a line each.
///
/// The sanity line comes always: a wrong unit or block size shows in it at a glance.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// Appends the notes of a trace that was read from `files` files. `unknown_names` are keys that no
/// reader knows.
void describe(const Trace& trace, std::size_t files, const std::vector<std::string>& unknown_names,
              std::vector<std::string>& notes);

}  // namespace driftless
