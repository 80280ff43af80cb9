#include "proto/export/html.hpp"

namespace driftless {

void append_script_json(std::string& out, std::string_view json) {
    for (std::size_t from = 0; from <= json.size();) {
        const std::size_t at = json.find('<', from);
        out += json.substr(from, at - from);
        if (at == json.npos) {
            return;
        }
        out += "\\u003c";
        from = at + 1;
    }
}

void append_base64_of(std::string& out, std::span<const std::uint8_t> bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const unsigned group = (unsigned{bytes[i]} << 16) |
                               (left > 1 ? unsigned{bytes[i + 1]} << 8 : 0U) |
                               (left > 2 ? unsigned{bytes[i + 2]} : 0U);
        out += digits[group >> 18];
        out += digits[(group >> 12) & 63];
        out += left > 1 ? digits[(group >> 6) & 63] : '=';
        out += left > 2 ? digits[group & 63] : '=';
    }
}

}  // namespace driftless
