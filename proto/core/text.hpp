/// Texts, the same in every locale: what is cut off their ends, letters' case, counts as people
/// read them, and the name that somebody may have meant. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

// What is cut off the ends of a text: digits, blanks, white space. Pure, the same in every locale.

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// The digits that `text` begins with; empty where there are none.
constexpr std::string_view leading_digits(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) {
        ++count;
    }
    return text.substr(0, count);
}

/// Cuts them off `text`, and returns them.
constexpr std::string_view take_digits(std::string_view& text) {
    const std::string_view digits = leading_digits(text);
    text.remove_prefix(digits.size());
    return digits;
}

/// White space of JSON (RFC 8259, section 2).
inline constexpr std::string_view white_space = " \t\r\n";

/// `text` without the `bytes` around it.
constexpr std::string_view trim(std::string_view text, std::string_view bytes) {
    text.remove_prefix(std::min(text.find_first_not_of(bytes), text.size()));
    return text.substr(0, text.find_last_not_of(bytes) + 1);
}

/// `text` without the blanks and tabs around it.
constexpr std::string_view trim_blanks(std::string_view text) {
    return trim(text, " \t");
}

// Upper and lower case of ASCII letters, as names of headers, columns and flags compare. All other
// bytes stay as they are.

char lower(char byte);
std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

// Counts and shares as people read them: "1 row", "2 rows", "12.5 %". Pure.

/// "1 row", "2 rows".
inline std::string counted(std::uint64_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// A share of 1 with one digit behind the point: "12.5 %".
inline std::string percent_text(double share) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
}

// The name that somebody may have meant. Pure.

/// The name nearest to a mistyped one: the same in another case, else one with at most 2 wrong
/// letters (two swapped letters count as one). Of equally near names, the one that shares the
/// longer beginning. If none is near, all that begin with what was typed, "--timeout-idle or
/// --timeout-total"; else empty.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

/// "; did you mean openai-chat?" for a mistyped value and a list for people, "openai-chat, tgi or
/// ollama", which ends before a bracket or a semicolon. Empty if none is near.
std::string did_you_mean(std::string_view typed, std::string_view list);

}  // namespace driftless
