#include "proto/record/written_fields.hpp"

#include <array>
#include <charconv>

namespace driftless {

namespace {

/// What stands for itself in a JSON text, and is whole UTF-8 as a byte.
constexpr std::array<bool, 256> plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t byte = 0x20; byte < 0x80; ++byte) {
        plain[byte] = byte != '"' && byte != '\\';
    }
    return plain;
}();

const char* behind_plain(const char* at, const char* end) {
    while (at < end && plain_bytes[static_cast<unsigned char>(*at)]) {
        ++at;
    }
    return at;
}

/// The quote that ends a text, from within it; `end`: there is none.
const char* closing_quote(const char* at, const char* end) {
    while (at < end && *at != '"') {
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return at;
}

const char* behind_digits(const char* at) {
    while (is_digit(*at)) {
        ++at;
    }
    return at;
}

std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace

/// The grammar of RFC 8259, section 6; the loops end at the line's bracket.
void WrittenFields::take_fraction(double& out) {
    const char* const whole = at_ + (*at_ == '-' ? 1 : 0);
    const char* to = behind_digits(whole);
    bool is_number = to > whole && (*whole != '0' || to - whole == 1);
    if (*to == '.') {
        const char* const from = to + 1;
        to = behind_digits(from);
        is_number = is_number && to > from;
    }
    if (*to == 'e' || *to == 'E') {
        const char* const from = to + 1 + (to[1] == '-' || to[1] == '+' ? 1 : 0);
        to = behind_digits(from);
        is_number = is_number && to > from;
    }
    if (!is_number || std::from_chars(at_, to, out).ec != std::errc()) {
        fail();
        return;
    }
    at_ = to;
}

void WrittenFields::take_text(std::string& out) {
    const char* const to = behind_plain(at_ + 1, end_);
    if (*at_ == '"' && to < end_ && *to == '"') {
        out.assign(between(at_ + 1, to));
        at_ = to + 1;
        return;
    }
    const char* const quote = closing_quote(to, end_);
    if (*at_ != '"' || quote == end_) {
        fail();
        return;
    }
    const Result<JsonValue> text = pieces_.parse(between(at_, quote + 1));
    if (!text || !text.value().is(JsonType::string)) {
        fail();
        return;
    }
    out.assign(*text.value().as_string());
    at_ = quote + 1;
}

/// A name out of a closed list: none has an escape.
std::string_view WrittenFields::plain_text() {
    if (failed_ || *at_ != '"') {
        fail();
        return {};
    }
    const char* const to = behind_plain(at_ + 1, end_);
    if (to == end_ || *to != '"') {
        fail();
        return {};
    }
    const std::string_view text = between(at_ + 1, to);
    at_ = to + 1;
    return text;
}

/// Finds its last bracket; whether what it encloses is JSON is JsonDocument's to say.
void WrittenFields::take_object(std::string& out) {
    unsigned depth = 0;  // the line's own bracket is one more
    const char* to = at_;
    do {
        const char c = *to;
        to = c == '"' ? closing_quote(to + 1, end_) : to;
        depth += c == '{' || c == '[' ? 1 : 0;
        depth -= depth > 0 && (c == '}' || c == ']') ? 1 : 0;
        to += to < end_ ? 1 : 0;
    } while (to < end_ && depth > 0 && depth < json_depth_max);
    if (*at_ != '{' || depth > 0) {
        fail();
        return;
    }
    const std::string_view text = between(at_, to);
    if (!pieces_.parse(text)) {
        fail();
        return;
    }
    out.assign(text);
    at_ = to;
}

}  // namespace driftless
