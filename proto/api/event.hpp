/// Events: what the dialects share when they read one. Internal to proto/api; each dialect's own
/// file says what its events mean. It keeps nothing: views live until the document's next parse.
#pragma once

#include <optional>
#include <string_view>

#include "proto/api/dialect.hpp"

namespace driftless {

/// Parses an event's payload and reads what all APIs share: `[DONE]`, and an error object or string
/// (`error`, or the whole event if it is flat). If there is more to read, returns the root, an
/// object or of the type `or_root`, and the reading's kind is `delta`; else returns absent, and the
/// kind is done, error or bad.
JsonValue open_event(JsonDocument& document, std::string_view event_name, std::string_view data,
                     EventReading& reading, JsonType or_root = JsonType::object);

/// The message of an error, or else its text. Empty if it is not an error: absent, null, false, 0,
/// or an empty text, array or object, as servers send with events in which nothing is wrong.
std::optional<std::string_view> error_said(const JsonValue& error);

/// Whether a finish reason says that the server gave the request up.
bool is_failed_finish(std::string_view finish_reason);
/// Why an answer ended: a text, or an object with a type and a message. Any other leaves it as is.
void read_finish(const JsonValue& finish, EventReading& reading);

/// Whether there is text of a model in a value, or a member, of whatever shape. Names, types, ids,
/// links, citations are none. Of a large value the first 64 values are looked at.
bool has_text(const JsonValue& value);

/// A string's text; empty for all else.
std::string_view text_of(const JsonValue& value);
/// A count, also one that is written as a float (12.0); -1 where it is absent, negative, has a
/// fraction or an exponent, or is above `tokens_reported_max`.
std::int64_t count_of(const JsonValue& value);

}  // namespace driftless
