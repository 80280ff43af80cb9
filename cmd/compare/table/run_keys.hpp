/// Keys of a run: what its summary.json says of the load and of the corpus, each as a name and a
/// text. Pure.
///
/// The corpus is what must be equal among the runs of a table: trace, window and what is made of
/// its rows. The load is what people vary on purpose: server, model, pace, users. The cache salt is
/// neither: with another salt prompts have other words, and share the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// Names as replay's flags have them, without dashes. Of a value that is not set the text is empty.
std::vector<CellValue> load_keys(JsonValue summary);

/// Trace and window first: what no sweep can excuse.
std::vector<CellValue> corpus_keys(JsonValue summary);
bool is_of_window(std::string_view corpus_key);

/// "trace_digest", as a reader of messages knows it: "trace", "--seed".
std::string words_of_key(std::string_view key);

/// The text under `name`; empty: none.
std::string_view value_in(const std::vector<CellValue>& values, std::string_view name);
bool has_value(const std::vector<CellValue>& values, std::string_view name);

}  // namespace driftless
