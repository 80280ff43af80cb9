#include "proto/json/utf8.hpp"

#include <cstring>

namespace driftless {

namespace {
unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}
bool continues(std::string_view text, std::size_t at) {
    return at < text.size() && (byte_at(text, at) & 0xC0u) == 0x80u;
}
}  // namespace

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const unsigned first = byte_at(text, 0);
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4 || !continues(text, 1)) {
        return 0;
    }
    if (first < 0xE0) {
        return 2;
    }
    const unsigned second = byte_at(text, 1);
    if (first < 0xF0) {
        const bool overlong = first == 0xE0 && second < 0xA0;
        const bool surrogate = first == 0xED && second > 0x9F;
        return overlong || surrogate || !continues(text, 2) ? 0 : 3;
    }
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second > 0x8F;
    return overlong || beyond || !continues(text, 2) || !continues(text, 3) ? 0 : 4;
}

std::size_t utf8_valid_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0) {
            break;
        }
        at += length;
    }
    return at;
}

std::string_view cut_at_code_point(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) {
        return text;
    }
    std::size_t end = bytes_max;
    // A code point has at most 3 continuation bytes; more of them are no UTF-8 and cut anywhere.
    for (unsigned back = 0; back < 3 && end > 0 && continues(text, end); ++back) {
        --end;
    }
    return text.substr(0, continues(text, end) ? bytes_max : end);
}

char* write_utf8(char* out, std::uint32_t code_point) {
    const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0 | (code_point >> 6));
        put(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        put(0xE0 | (code_point >> 12));
        put(0x80 | ((code_point >> 6) & 0x3F));
        put(0x80 | (code_point & 0x3F));
    } else {
        put(0xF0 | (code_point >> 18));
        put(0x80 | ((code_point >> 12) & 0x3F));
        put(0x80 | ((code_point >> 6) & 0x3F));
        put(0x80 | (code_point & 0x3F));
    }
    return out;
}

std::string_view to_valid_utf8(std::string_view text, std::string& storage) {
    std::size_t valid = utf8_valid_prefix(text);
    if (valid == text.size()) {
        return text;
    }
    storage.clear();
    while (valid < text.size()) {
        storage += text.substr(0, valid);
        storage += replacement_utf8;
        text.remove_prefix(valid + 1);
        valid = utf8_valid_prefix(text);
    }
    storage += text;
    return storage;
}

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

/// Offset of the first byte from `at` on that is U+007F or belongs to no ASCII character.
std::size_t find_beyond_ascii(std::string_view text, std::size_t at) {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    constexpr std::uint64_t ones = 0x0101010101010101;
    for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (((word | (word + ones)) & high_bits) != 0) {
            break;
        }
    }
    while (at < text.size() && static_cast<std::uint8_t>(text[at]) < 0x7F) {
        ++at;
    }
    return at;
}

void append_json_escape(std::string& out, std::uint32_t code) {
    if (code > 0xFFFF) {  // a surrogate pair (RFC 8259, section 7)
        append_escaped(out, 0xD800 + ((code - 0x10000) >> 10));
        append_escaped(out, 0xDC00 + (code & 0x3FF));
    } else {
        append_escaped(out, code);
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

void escape_unprintable_json(std::string& json, std::size_t from) {
    std::string fresh;
    std::size_t copied = from;
    for (std::size_t at = find_beyond_ascii(json, from); at < json.size();
         at = find_beyond_ascii(json, at)) {
        const std::string_view rest = std::string_view(json).substr(at);
        const std::size_t bytes = utf8_length(rest);
        const std::uint32_t code = bytes > 0 ? decode(rest.substr(0, bytes)) : 0;
        if (bytes > 0 && is_unprintable(code)) {
            fresh.append(json, copied, at - copied);
            append_json_escape(fresh, code);
            copied = at + bytes;
        }
        at += bytes > 0 ? bytes : 1;
    }
    if (copied > from) {
        json.replace(from, copied - from, fresh);
    }
}

std::string printable(std::string_view text) {
    return escaped(text, false);
}

std::string printable_lines(std::string_view text) {
    return escaped(text, true);
}

}  // namespace driftless
