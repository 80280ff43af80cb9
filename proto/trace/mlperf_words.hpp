/// The words of MLPerf's agentic rows: what a row of a user, a tool or an assistant stands for in a
/// chat, as JSON texts of messages. They list what is wrong with the row's fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proto/trace/fields.hpp"

namespace driftless {

/// A string that is not empty.
bool is_text(const JsonValue& value);

/// Lists an error of a field of this row, with the value as it stands. Always false.
bool refuse_value(const RowContext& context, std::string_view field, const JsonValue& value,
                  std::string problem, std::string remedy);

/// The row's messages: objects with commas between them. Nothing after an error.
std::optional<std::string> user_words(const RowContext& context, const JsonValue& row);
/// A message for each result.
std::optional<std::string> tool_words(const RowContext& context, const JsonValue& row);
std::optional<std::string> assistant_words(const RowContext& context, const JsonValue& row);

/// A system prompt as a message; `system` is text.
std::string system_words(const JsonValue& system);

}  // namespace driftless
