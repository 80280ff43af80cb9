/// What a sweep that is resumed must find again: the files of its traces, byte for byte. Cells of
/// two traces in one table would be compared as if they were of one.
#pragma once

#include <string>
#include <vector>

#include "cmd/sweep/plan.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// Digests of the traces at these paths, each of them once: of a file, or of all files of a
/// directory with their names. Errors: those of reading; `path` says of which.
Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path);

/// The first of `kept` that is not what it was, or that cannot be read; empty: all are.
std::string changed_trace(const std::vector<KeptTrace>& kept);

}  // namespace driftless
