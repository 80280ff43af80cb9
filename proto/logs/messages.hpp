/// Prompts and answers as APIs and exporters write them: chat messages with texts, parts, tool
/// calls and tool results; requests and responses of chat, completions, responses and messages
/// APIs; OpenTelemetry's parts.
///
/// All text of a message goes into one LogMessage, one line per part. A part that is not text
/// (image, audio, file) becomes a short mark that is different for different parts, and is counted.
/// Nothing here fails: what holds no text gives none.
#pragma once

#include <string_view>

#include "proto/json/document.hpp"
#include "proto/logs/format.hpp"

namespace driftless {

/// Appends a list of messages, a single one, or a text that is the whole prompt. A string that
/// holds such JSON is read as what it holds.
void add_messages(const LogContext& context, const JsonValue& messages, LogCall& call);

/// Appends definitions of tools, as they stand, as a message of the role "tools". Templates put
/// them first: call it before `add_messages`.
void add_tools(const JsonValue& tools, LogCall& call);

/// A request body: tools, instructions, messages, input or prompt; whether it streams. Counts
/// those that ask for several answers.
void read_request(const LogContext& context, const JsonValue& body, LogCall& call);

/// A response body, a message, a list of choices, or the answer's text: the first choice's text
/// and tool calls, and usage where there is one.
void read_response(const LogContext& context, const JsonValue& response, LogCall& call);

}  // namespace driftless
