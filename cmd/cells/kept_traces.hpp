/// What a sweep or a search that is resumed must find again: the files of its traces, byte for
/// byte. Cells of two traces in one table would be compared as if they were of one.
#pragma once

#include <string>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// A trace as it was at the beginning.
struct KeptTrace {
    std::string path;    ///< as it was typed
    std::string digest;  ///< of its bytes, 16 hex digits
};

/// Digests of the traces at these paths, each of them once: of a file, or of all files of a
/// directory with their names. Errors: those of reading; `path` says of which.
Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path);

/// The path of the first of `kept` that has changed or cannot be read; empty: none.
std::string changed_trace(const std::vector<KeptTrace>& kept);

/// The key `traces` of `sweep.json` and `find.json`, and what that says.
void write_kept_traces(JsonWriter& json, const std::vector<KeptTrace>& kept);
std::vector<KeptTrace> read_kept_traces(JsonValue array);

}  // namespace driftless
