/// Rendering: the messages of a call as the token ids of one prompt.
///
/// The template is plain, the same for every model: for each message its role, a newline, its text,
/// a newline; then "assistant" and a newline, where the answer begins. A prompt that is one text is
/// that text. It stands in for the server's chat template, which has other marks and a few more
/// tokens a message: prefixes are shared where the server shares them, but for the few tokens
/// around a border, and lengths come from the log's usage where it has some. Roles and texts are
/// tokenized each by itself, so that a conversation that goes on begins with the same tokens.
#pragma once

#include <span>
#include <vector>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/logs/call.hpp"

namespace driftless {

/// Replaces `tokens` by those of the prompt; none where it has no text.
void render(std::span<const LogMessage> prompt, Tokenizer& tokenizer, std::vector<TokenId>& tokens);

}  // namespace driftless
