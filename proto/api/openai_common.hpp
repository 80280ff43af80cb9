/// What the OpenAI-shaped dialects share: how a body is put together and how an event is read.
/// Internal to proto/api; the dialects' own files say in what they differ.
#pragma once

#include <string_view>

#include "proto/api/dialect.hpp"

namespace driftless {

/// What differs in the bodies.
struct OpenAiBody {
    std::string_view prompt_name;   ///< the member that holds the prompt
    std::string_view prompt_open;   ///< what stands before the prompt's bytes in it
    std::string_view prompt_close;  ///< and after them
    std::string_view length_name;   ///< the member that bounds the answer
};

/// Errors: bad_json where `extra_body` is no JSON, invalid where it is no object or replaces the
/// prompt.
Result<BodyFrame> make_openai_frame(const BodySpec& spec, const OpenAiBody& body);

/// Reads one event; `read_choice` reads what a dialect says inside one element of `choices`.
EventReading read_openai_event(JsonDocument& document, std::string_view event_name,
                               std::string_view data,
                               void (*read_choice)(const JsonValue& choice, EventReading& reading));

/// Reads what all choices have beside their text: token ids and the finish reason.
void read_choice_frame(const JsonValue& choice, EventReading& reading);

extern const Dialect openai_chat_dialect;
extern const Dialect openai_completions_dialect;

}  // namespace driftless
