#include "proto/json/printable.hpp"

#include <cstddef>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

struct Range {
    std::uint32_t first;
    std::uint32_t last;
};
constexpr Range unprintable[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD},   {0x061C, 0x061C},
    {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

/// The code point of valid UTF-8.
std::uint32_t decode(std::string_view bytes) {
    constexpr std::uint32_t lead_bits[] = {0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t code = static_cast<std::uint8_t>(bytes[0]) & lead_bits[bytes.size() - 1];
    for (const char byte : bytes.substr(1)) {
        code = code << 6 | (static_cast<std::uint8_t>(byte) & 0x3F);
    }
    return code;
}

void append_escaped(std::string& out, std::uint32_t code) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += code > 0xFFFF ? "\\U" : "\\u";
    for (int shift = code > 0xFFFF ? 28 : 12; shift >= 0; shift -= 4) {
        out += hex[code >> shift & 15];
    }
}

std::string escaped(std::string_view text, bool keeps_lines) {
    std::string storage;
    std::string_view valid = to_valid_utf8(text, storage);
    std::string out;
    while (!valid.empty()) {
        const std::string_view bytes = valid.substr(0, utf8_length(valid));
        const std::uint32_t code = decode(bytes);
        if (is_unprintable(code) && !(keeps_lines && code == '\n')) {
            append_escaped(out, code);
        } else {
            out += bytes;
        }
        valid.remove_prefix(bytes.size());
    }
    return out;
}

}  // namespace

bool is_unprintable(std::uint32_t code_point) {
    for (const Range& range : unprintable) {
        if (code_point >= range.first && code_point <= range.last) {
            return true;
        }
    }
    return false;
}

std::string printable(std::string_view text) {
    return escaped(text, false);
}

std::string printable_lines(std::string_view text) {
    return escaped(text, true);
}

}  // namespace driftless
