/// Texts, the same in every locale: their ends, letters' case, counts as people read them, names
/// that were meant; UTF-8; text from outside made safe for a terminal, short and without secrets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

/// Cuts off `text` what is before the first of the bytes `ends`, and that byte, which is not
/// returned; all of it where none of them is there.
constexpr std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::string_view part = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

/// What is between any of the bytes `between`; nothing that is empty.
std::vector<std::string_view> words_in(std::string_view text, std::string_view between);

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

/// What `text_of` says of each of them, with `between` from one text to the next.
template <typename Range, typename TextOf = std::identity>
std::string joined(const Range& range, std::string_view between, TextOf text_of = {}) {
    std::string all;
    bool is_first = true;
    for (const auto& one : range) {
        all += std::exchange(is_first, false) ? "" : between;
        all += std::invoke(text_of, one);
    }
    return all;
}

// The name that a mistyped one may have meant. Pure.

/// The name nearest to a mistyped one: the same in another case, else one with at most 2 wrong
/// letters (two swapped letters count as one). Of equally near names, the one that shares the
/// longer beginning. If none is near, all that begin with what was typed, "--timeout-idle or
/// --timeout-total"; else empty.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

/// "; did you mean openai-chat?" for a mistyped value and a list for people, "openai-chat, tgi or
/// ollama", which ends before a bracket or a semicolon. Empty if none is near.
std::string did_you_mean(std::string_view typed, std::string_view list);

// UTF-8, as far as JSON needs it: what is valid, where to cut, how to write one code point.
//
// Pure functions over bytes (RFC 3629: no surrogates, nothing above U+10FFFF, shortest form).

inline constexpr std::uint32_t replacement_character = 0xFFFD;
inline constexpr std::string_view replacement_utf8 = "\xEF\xBF\xBD";

/// Bytes of the code point that begins at `text[0]`: 1 to 4, or 0 where no valid one does.
std::size_t utf8_length(std::string_view text);

/// Offset of the first byte that belongs to no valid code point; `text.size()` where all do.
std::size_t utf8_valid_prefix(std::string_view text);

/// The longest head of `text` of at most `bytes_max` bytes that does not end inside a code point.
std::string_view cut_at_code_point(std::string_view text, std::size_t bytes_max);

/// Replaces each byte that belongs to no code point by U+FFFD. Returns `text` itself where it is
/// valid, else a view of `storage`.
std::string_view to_valid_utf8(std::string_view text, std::string& storage);

/// Writes 1 to 4 bytes at `out`, returns the end. `code_point` is no surrogate and <= U+10FFFF.
char* write_utf8(char* out, std::uint32_t code_point);

// Text from outside, made safe for a terminal: nothing in it moves the cursor, sets the title,
// begins a line, or reverses, hides or joins the text beside it. Pure functions on text.

/// True for what is never shown as it is: control characters (U+0000 to U+001F, U+007F to U+009F),
/// those that set the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
/// U+2069), separators of lines and paragraphs (U+2028, U+2029), and what has no width or no glyph
/// (U+00AD, U+180E, U+200B to U+200D, U+2060 to U+2065, U+206A to U+206F, U+FEFF, U+FFF9 to U+FFFB,
/// the tags U+E0000 to U+E007F).
bool is_unprintable(std::uint32_t code_point);

/// `text` with what is unprintable as `\uXXXX` (`\UXXXXXXXX` above U+FFFF), and U+FFFD in the place
/// of each byte that is no UTF-8.
std::string printable(std::string_view text);

/// The same, but line feeds stay: for what has several lines of our own making.
std::string printable_lines(std::string_view text);

/// Escapes what is unprintable in the JSON text that begins at `from`, so that people can print a
/// file; JSON readers see the same strings. Line feeds between values stay. The bytes below U+007F
/// are the JSON writer's to escape.
void escape_unprintable_json(std::string& json, std::size_t from);

// Text from outside, as records and screens may hold it: without the run's secrets, and short.
//
// Pure functions on text, used wherever a server's words leave the program. Text is masked after
// an answer was decoded and not before: a short key can be part of ordinary words, and an answer
// without those could not be parsed.

/// What is in the place of a secret.
inline constexpr std::string_view mask_text = "***";
/// Shorter values are not masked: they would mask ordinary words. At most this many bytes of a
/// secret may remain where its text was cut.
inline constexpr std::size_t secret_bytes_min = 4;

/// Replaces every occurrence of a secret, then cuts at a code point to `bytes_max`. If the text
/// itself was cut before, it may end in the beginning of a secret: that is removed, too. Of two
/// secrets with the same beginning, the longer one is matched first.
std::string masked(std::string_view text, const std::vector<std::string>& secrets,
                   std::size_t bytes_max);

}  // namespace driftless
