/// Texts and lists of texts in the files that a sweep and a search write and read back. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Empty where `value` is not a text.
std::string text_of(JsonValue value);
std::vector<std::string> texts_of(JsonValue array);

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts);
/// Null where the text is empty.
void write_optional_text(JsonWriter& json, std::string_view key, const std::string& text);

}  // namespace driftless
