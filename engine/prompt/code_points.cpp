#include "engine/prompt/code_points.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "proto/core/check.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

// Bytes that print stand for themselves; the others get the code points from U+0100 on, in order.
constexpr bool prints(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::uint32_t letters_end = 0x100 + 68;

struct Alphabet {
    std::array<std::uint16_t, 256> letter{};
    std::array<std::int16_t, letters_end> byte{};

    constexpr Alphabet() {
        byte.fill(-1);
        std::uint16_t next = 0x100;
        for (unsigned i = 0; i < 256; ++i) {
            letter[i] = prints(i) ? static_cast<std::uint16_t>(i) : next++;
            byte[letter[i]] = static_cast<std::int16_t>(i);
        }
    }
};
constexpr Alphabet alphabet;
static_assert(alphabet.letter[' '] == 0x120 && alphabet.byte[letters_end - 1] == 0xAD);

utf8proc_category_t category(std::uint32_t code_point) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    if (lead < 0xE0) {
        return {(lead & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
    }
    if (lead < 0xF0) {
        return {(lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), 3};
    }
    return {
        (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU),
        4};
}

CodePoint last_code_point(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
        --begin;
    }
    return first_code_point(text.substr(begin));
}

void append_utf8(std::string& out, std::uint32_t code_point) {
    char bytes[4];
    out.append(bytes, static_cast<std::size_t>(write_utf8(bytes, code_point) - bytes));
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_white_space(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
    }
    return code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
           (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 ||
           code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
           code_point == 0x3000;
}

bool is_numeric(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point >= '0' && code_point <= '9';
    }
    const utf8proc_category_t of = category(code_point);
    return of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return (code_point >= '!' && code_point <= '/') ||
               (code_point >= ':' && code_point <= '@') ||
               (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
    }
    const utf8proc_category_t of = category(code_point);
    return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

// \w there is [\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]. Alphabetic is L, Nl and
// Other_Alphabetic; of the latter, all that is no mark are the circled and squared Latin letters.
bool is_word_character(std::uint32_t code_point) {
    const utf8proc_category_t of = category(code_point);
    const bool letter = of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
    const bool enclosed_letter = (code_point >= 0x24B6 && code_point <= 0x24E9) ||
                                 (code_point >= 0x1F130 && code_point <= 0x1F149) ||
                                 (code_point >= 0x1F150 && code_point <= 0x1F169) ||
                                 (code_point >= 0x1F170 && code_point <= 0x1F189);
    const bool joiner = code_point == 0x200C || code_point == 0x200D;
    return letter || is_mark(code_point) || of == UTF8PROC_CATEGORY_ND ||
           of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_PC || enclosed_letter || joiner;
}

bool is_mark(std::uint32_t code_point) {
    const utf8proc_category_t of = category(code_point);
    return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

std::uint32_t letter_of_byte(unsigned char byte) {
    return alphabet.letter[byte];
}

std::optional<unsigned char> byte_of_letter(std::uint32_t code_point) {
    if (code_point >= letters_end || alphabet.byte[code_point] < 0) {
        return std::nullopt;
    }
    return static_cast<unsigned char>(alphabet.byte[code_point]);
}

void append_letters(std::string& out, std::string_view bytes) {
    for (const char byte : bytes) {
        append_utf8(out, letter_of_byte(static_cast<unsigned char>(byte)));
    }
}

bool append_bytes_of_letters(std::string& out, std::string_view letters) {
    const std::size_t before = out.size();
    while (!letters.empty()) {
        const CodePoint point = first_code_point(letters);
        const auto byte = byte_of_letter(point.value);
        if (!byte) {
            out.resize(before);
            return false;
        }
        out.push_back(static_cast<char>(*byte));
        letters.remove_prefix(point.bytes);
    }
    return true;
}

}  // namespace driftless
