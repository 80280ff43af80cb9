/// The name that somebody may have meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// The name nearest to a mistyped one: the same in another case, else one with at most 2 wrong
/// letters (two swapped letters count as one). Of equally near names, the one that shares the
/// longer beginning. If none is near, all that begin with what was typed, "--timeout-idle or
/// --timeout-total"; else empty.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

/// "; did you mean openai-chat?" for a mistyped value and a list for people, "openai-chat, tgi or
/// ollama", which ends before a bracket or a semicolon. Empty if none is near.
std::string did_you_mean(std::string_view typed, std::string_view list);

}  // namespace driftless
