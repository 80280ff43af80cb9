/// Values of the flags of live assistants: from typed text and back. Pure. The `doing` of an Error
/// is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <string>
#include <string_view>

#include "engine/prompt/recorded_bodies.hpp"
#include "proto/api/answer_words.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// `--assistant`: "recorded" or "live".
Result<Assistant> parse_assistant(std::string_view text);
const char* name_of(Assistant assistant);

/// `--live-keep`: any of text, tools, reasoning, with commas between them.
Result<KeptWords> parse_kept_words(std::string_view text);
/// As it is typed.
std::string text_of(const KeptWords& kept);

}  // namespace driftless
