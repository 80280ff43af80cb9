/// What the OpenAI-shaped dialects share: the members of a body and how an event is read.
/// Internal to proto/api; the dialects' own files say in what they differ.
#pragma once

#include <string>
#include <string_view>

#include "proto/api/body.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

/// What stands beside prompt and length. None is ever null: several servers refuse nulls.
BodyMembers openai_members(const BodySpec& spec);

/// The value of `stream_options`: usage at the end, or with every event.
std::string openai_stream_options(bool continuous_usage);

/// The chat dialect itself, for those that speak it with something on top.
inline constexpr BodyShape chat_shape{"messages", R"([{"role":"user","content":")", R"("}])",
                                      "max_completion_tokens", ""};
/// The same with the name that the spec has for the length.
BodyShape chat_shape_of(const BodySpec& spec);
Result<BodyFrame> make_chat_frame(const BodySpec& spec);
void read_chat_event(const JsonValue& root, EventReading& reading);

/// What a dialect reads of one element of `choices`.
using ReadChoice = void (*)(const JsonValue& choice, EventReading& reading);

/// Reads the choices and the usage of one event, which may stand beside the choices, in one of
/// them (Moonshot), or in `x_groq`.
void read_openai_event(const JsonValue& root, ReadChoice read_choice, EventReading& reading);

/// Reads what all choices have beside their text: token ids and the finish reason, which may be an
/// object (`{"type":"abort","message":".."}`).
void read_choice_frame(const JsonValue& choice, EventReading& reading);

}  // namespace driftless
