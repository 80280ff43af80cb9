/// UTF-8, as far as JSON needs it: what is valid, where to cut, how to write one code point.
///
/// Pure functions over bytes (RFC 3629: no surrogates, nothing above U+10FFFF, shortest form).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
