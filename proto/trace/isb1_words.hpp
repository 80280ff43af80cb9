/// Messages of ISB-1 bundles as a server takes them, as the bundles' own client makes them.
///
/// Content is text, or blocks of text, code, logs, documents, tables and images. What tools,
/// retrieval and execution said goes out as a user's words under a heading. Source:
/// SemiAnalysisAI/InferenceX, utils/bench_serving/benchmark_export_replay.py.
#pragma once

#include <optional>
#include <string>

#include "proto/trace/fields.hpp"

namespace driftless {

/// JSON objects with commas between them. Nothing after an error, which names the list.
std::optional<std::string> isb1_messages(RowContext& context, const JsonValue& list,
                                         std::string_view name);

}  // namespace driftless
