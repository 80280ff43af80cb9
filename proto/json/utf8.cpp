#include "proto/json/utf8.hpp"

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

}  // namespace driftless
