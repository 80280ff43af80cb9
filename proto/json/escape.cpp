#include "proto/json/escape.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

// The byte that a backslash and `letter` stand for; 0 where there is none.
char simple_escape(char letter) {
    switch (letter) {
        case '"':
        case '\\':
        case '/':
            return letter;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

constexpr std::uint32_t no_hex = 0x110000;  // one above the last code point

// The value of four hex digits at the head of `text`, or `no_hex`.
std::uint32_t read_hex4(std::string_view text) {
    if (text.size() < 4) {
        return no_hex;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return no_hex;
        }
        value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return value;
}

// Reads the code point after `\u`; takes a second escape where both make a surrogate pair.
// `no_hex` where the first is no escape at all.
std::uint32_t take_code_point(std::string_view& rest) {
    const std::uint32_t unit = read_hex4(rest);
    if (unit == no_hex) {
        return no_hex;
    }
    rest.remove_prefix(4);
    if (unit < 0xD800 || unit > 0xDFFF) {
        return unit;
    }
    if (unit < 0xDC00 && rest.starts_with("\\u")) {
        const std::uint32_t low = read_hex4(rest.substr(2));
        if (low >= 0xDC00 && low <= 0xDFFF) {
            rest.remove_prefix(6);
            return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return replacement_character;
}

}  // namespace

char* unescape_json(std::string_view escaped, char* out) {
    while (true) {  // each round consumes at least one escape, or ends
        const std::size_t plain = std::min(escaped.find('\\'), escaped.size());
        std::memcpy(out, escaped.data(), plain);
        out += plain;
        escaped.remove_prefix(plain);
        if (escaped.empty()) {
            return out;
        }
        if (escaped.size() < 2) {
            return nullptr;
        }
        const char letter = escaped[1];
        escaped.remove_prefix(2);
        if (letter == 'u') {
            const std::uint32_t code_point = take_code_point(escaped);
            if (code_point == no_hex) {
                return nullptr;
            }
            out = write_utf8(out, code_point);
        } else if (const char byte = simple_escape(letter); byte != 0) {
            *out++ = byte;
        } else {
            return nullptr;
        }
    }
}

}  // namespace driftless
