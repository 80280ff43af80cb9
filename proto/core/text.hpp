/// What is cut off the ends of a text: digits, blanks, white space. Pure, the same in every locale.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
