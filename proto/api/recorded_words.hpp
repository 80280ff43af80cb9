/// RecordedWords: messages, tools and other values of a recorded request, as they are sent.
///
/// Internal to proto/api: recorded.cpp puts the members together. What servers refuse is fixed
/// here and counted: nulls, the role `developer`, arguments and ids of tool calls. Never recursive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api/recorded.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

class RecordedWords {
  public:
    /// Counts in `fixes`, which outlives it. One for each request.
    explicit RecordedWords(RecordedFixes& fixes) : fixes_(fixes) {}

    /// A list of chat messages. `spans`: where each stands in what is returned.
    std::string messages(const JsonValue& list, std::vector<MessageSpan>& spans);
    /// A list of tools: nulls under `default` and `const` are part of a schema and stay.
    std::string tools(const JsonValue& list);
    /// Anything else, without members that are null.
    std::string value(const JsonValue& any);

  private:
    void write_clean(JsonWriter& json, const JsonValue& value, bool schema);
    std::size_t write_message(JsonWriter& json, const JsonValue& message, const std::string& out);
    void write_calls(JsonWriter& json, const JsonValue& calls);
    void write_function(JsonWriter& json, const JsonValue& function);

    RecordedFixes& fixes_;
    std::uint32_t message_ = 0;  ///< the one that is written, from 0
    std::uint32_t answers_ = 0;  ///< tool messages since the last calls
    std::uint32_t caller_ = 0;   ///< the message with the last calls
};

}  // namespace driftless
