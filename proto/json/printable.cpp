#include "proto/json/printable.hpp"

#include <cstddef>
#include <cstdint>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

/// The control character that begins at `at`, or -1. Those from U+0080 on are two bytes.
int control_at(std::string_view text, std::size_t at) {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    if (byte(at) < 0x20 || byte(at) == 0x7F) {
        return byte(at);
    }
    const bool is_high = byte(at) == 0xC2 && at + 1 < text.size() && byte(at + 1) < 0xA0;
    return is_high ? byte(at + 1) : -1;
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string storage;
    const std::string_view valid = to_valid_utf8(text, storage);
    std::string out;
    for (std::size_t at = 0; at < valid.size(); ++at) {
        const int control = control_at(valid, at);
        if (control < 0) {
            out += valid[at];
            continue;
        }
        const auto code = static_cast<unsigned>(control);
        out += "\\u00";
        out += digits[code >> 4];
        out += digits[code & 15];
        at += code < 0x80 ? 0 : 1;
    }
    return out;
}

}  // namespace driftless
