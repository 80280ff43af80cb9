/// UTF-8, as far as JSON needs it, and text from outside made safe for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
