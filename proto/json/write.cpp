#include "proto/json/write.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "proto/core/text.hpp"

namespace driftless {

// True for bytes that cannot be in a JSON string as they are, and for those above ASCII, which
// must be looked at.
static constexpr std::array<bool, 256> needs_care = [] {
    std::array<bool, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        table[byte] = byte < 0x20 || byte == '"' || byte == '\\' || byte >= 0x80;
    }
    return table;
}();

static void append_escape(std::string& out, char byte) {
    constexpr std::string_view named = "\"\\\b\f\n\r\t";
    constexpr std::string_view letters = "\"\\bfnrt";
    out += '\\';
    if (const std::size_t at = named.find(byte); at != named.npos) {
        out += letters[at];
        return;
    }
    constexpr const char* digits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    out += "u00";
    out += digits[value >> 4];
    out += digits[value & 15];
}

template <typename Number>
static void append_number(std::string& out, Number value) {
    std::array<char, 32> text;  // the longest double has 24 characters
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    out.append(text.data(), end);
}

void append_json_escaped(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const auto stop = std::find_if(text.begin(), text.end(), [](char byte) {
            return needs_care[static_cast<unsigned char>(byte)];
        });
        const auto plain = static_cast<std::size_t>(stop - text.begin());
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) {
            return;
        }
        std::size_t length = 1;
        if (static_cast<unsigned char>(text.front()) < 0x80) {
            append_escape(out, text.front());
        } else if (const std::size_t valid = utf8_length(text); valid > 0) {
            length = valid;
            out.append(text.data(), length);
        } else {
            out += replacement_utf8;
        }
        text.remove_prefix(length);
    }
}

void JsonWriter::separate() {
    if (needs_comma_) {
        out_ += ',';
    }
    needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    out_ += bracket;
    needs_comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    string(name);
    out_ += ':';
    needs_comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
    separate();
    out_ += '"';
    append_json_escaped(out_, text);
    out_ += '"';
    return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
    separate();
    append_number(out_, value);
    return *this;
}

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t value) {
    separate();
    append_number(out_, value);
    return *this;
}

JsonWriter& JsonWriter::number(double value) {
    if (!std::isfinite(value)) {
        return null();
    }
    separate();
    append_number(out_, value);
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& text : texts) {
        json.string(text);
    }
    json.end_array();
}

void write_optional_text(JsonWriter& json, std::string_view key, const std::string& text) {
    json.key(key);
    text.empty() ? json.null() : json.string(text);
}

}  // namespace driftless
