/// Code points: what the parts of a tokenizer ask about text, and GPT-2's alphabet of bytes.
///
/// Pure functions. Text is valid UTF-8 here; `to_valid_utf8` of proto/json makes it so at the
/// door.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

struct CodePoint {
    std::uint32_t value = 0;
    std::uint32_t bytes = 0;
};

/// The code point at the start of `text`, which is not empty.
CodePoint first_code_point(std::string_view text);
/// The code point at the end of `text`, which is not empty.
CodePoint last_code_point(std::string_view text);
void append_utf8(std::string& out, std::uint32_t code_point);
bool is_ascii(std::string_view text);

/// Unicode's White_Space property, which Rust and Oniguruma share. Rules of Rust's `char` below.
bool is_white_space(std::uint32_t code_point);
/// General categories Nd, Nl, No.
bool is_numeric(std::uint32_t code_point);
/// ASCII punctuation (symbols like $ and + included) and the general categories P*.
bool is_punctuation(std::uint32_t code_point);
/// What Rust's regular expressions call a word character: letters, marks, digits, letter-like
/// numbers and symbols, connectors, joiners.
bool is_word_character(std::uint32_t code_point);
/// General categories M*.
bool is_mark(std::uint32_t code_point);

/// What stands for a blank: in models of characters, and in GPT-2's alphabet.
inline constexpr std::string_view blank_mark = "\xE2\x96\x81";
inline constexpr std::string_view blank_letter = "\xC4\xA0";

/// GPT-2's alphabet: every byte has a printable code point that stands for it, so that its
/// vocabulary can be written as text. A blank is U+0120.
std::uint32_t letter_of_byte(unsigned char byte);
/// The byte for which a code point stands, if it is of the alphabet.
std::optional<unsigned char> byte_of_letter(std::uint32_t code_point);

/// Appends every byte of `bytes` as its letter.
void append_letters(std::string& out, std::string_view bytes);
/// Appends the bytes for which the letters stand; false, and nothing appended, where a code point
/// is not of the alphabet.
bool append_bytes_of_letters(std::string& out, std::string_view letters);

}  // namespace driftless
