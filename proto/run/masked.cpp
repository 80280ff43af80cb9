#include "proto/run/masked.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

/// A character as some escape spells it.
struct Spelled {
    std::size_t bytes = 0;  ///< of the escape; 0: there is none
    std::string character;  ///< as UTF-8
};

/// The number that up to `digits_max` digits at the begin of `text` write; no bytes: none.
Spelled read_code(std::string_view text, std::uint32_t base, std::size_t digits_max) {
    std::uint32_t code = 0;
    std::size_t bytes = 0;
    for (; bytes < std::min(digits_max, text.size()); ++bytes) {
        const auto c = static_cast<unsigned char>(text[bytes]);
        const auto lower = static_cast<unsigned char>(c | 0x20U);
        const std::uint32_t digit = c >= '0' && c <= '9' ? c - '0' : lower - 'a' + 10U;
        if (digit >= base) {
            break;
        }
        code = code * base + digit;
    }
    if (bytes == 0 || code > 0xFFFF || (code >= 0xD800 && code < 0xE000)) {
        return {};
    }
    std::array<char, 4> utf8{};
    return {bytes, std::string(utf8.data(), write_utf8(utf8.data(), code))};
}

/// JSON's escapes, and Python's `\x2f`; with more backslashes where one text quotes another.
Spelled read_backslashes(std::string_view text) {
    const std::size_t run = std::min(text.find_first_not_of('\\'), text.size());
    if (run == text.size()) {
        return {};
    }
    const char c = text[run];
    const std::size_t digits = c == 'u' ? 4 : c == 'x' ? 2 : 0;
    if (digits > 0) {
        const Spelled code = read_code(text.substr(run + 1), 16, digits);
        return code.bytes == digits ? Spelled{run + 1 + digits, code.character} : Spelled{};
    }
    constexpr std::string_view names = "/\"'tnr";
    constexpr std::string_view meant = "/\"'\t\n\r";
    const std::size_t at = names.find(c);
    return at == names.npos ? Spelled{} : Spelled{run + 1, std::string(1, meant[at])};
}

/// `%2F`.
Spelled read_percent(std::string_view text) {
    const Spelled code = read_code(text.substr(1), 16, 2);
    return code.bytes == 2 ? Spelled{3, code.character} : Spelled{};
}

/// `%252F`, where a URL stands inside another.
Spelled read_percent_twice(std::string_view text) {
    std::size_t at = 1;
    while (text.substr(at).starts_with("25")) {  // ends: it moves on
        at += 2;
    }
    const Spelled code = read_code(text.substr(at), 16, 2);
    return at > 1 && code.bytes == 2 ? Spelled{at + 2, code.character} : Spelled{};
}

/// `&amp;`, `&#47;`, `&#x2F;`.
Spelled read_entity(std::string_view text) {
    struct Named {
        std::string_view entity;
        char character;
    };
    for (const Named& one : {Named{"&amp;", '&'}, Named{"&lt;", '<'}, Named{"&gt;", '>'},
                             Named{"&quot;", '"'}, Named{"&apos;", '\''}}) {
        if (text.starts_with(one.entity)) {
            return {one.entity.size(), std::string(1, one.character)};
        }
    }
    const bool hex = text.starts_with("&#x") || text.starts_with("&#X");
    const std::size_t begin = hex ? 3 : 2;
    if (!text.starts_with("&#") || text.size() <= begin) {
        return {};
    }
    const Spelled code = read_code(text.substr(begin), hex ? 16 : 10, hex ? 4 : 5);
    const std::size_t end = begin + code.bytes;
    const bool whole = code.bytes > 0 && end < text.size() && text[end] == ';';
    return whole ? Spelled{end + 1, code.character} : Spelled{};
}

Spelled read_escape(std::string_view text) {
    switch (text.front()) {
        case '\\':
            return read_backslashes(text);
        case '%':
            return read_percent(text);
        case '&':
            return read_entity(text);
        default:
            return {};
    }
}

/// An escape that the end of the text may have cut.
bool is_begun_escape(std::string_view text) {
    constexpr std::size_t escape_bytes_max = 8;
    return text.size() <= escape_bytes_max &&
           std::string_view("\\%&").find(text.front()) != std::string_view::npos;
}

/// Bytes at the begin of `text` that spell `secret`, as it is or escaped character by character; or
/// that spell so much of it that the text ends in a head of it. 0: neither.
std::size_t spelled_bytes(std::string_view text, std::string_view secret) {
    std::size_t at = 0;
    std::size_t taken = 0;
    while (taken < secret.size() && at < text.size()) {  // ends: `at` grows
        const std::string_view rest = text.substr(at);
        const std::string_view wanted = secret.substr(taken);
        Spelled one = read_escape(rest);
        if (rest.front() == '%' && !wanted.starts_with(one.character)) {
            one = read_percent_twice(rest);
        }
        const std::size_t backslashes = std::min(rest.find_first_not_of('\\'), rest.size());
        const std::size_t meant = std::min(wanted.find_first_not_of('\\'), wanted.size());
        if (meant > 0 && (backslashes == 2 * meant || backslashes == 4 * meant)) {
            at += backslashes;
            taken += meant;
        } else if (one.bytes > 0 && wanted.starts_with(one.character)) {
            at += one.bytes;
            taken += one.character.size();
        } else if (is_begun_escape(rest) && taken >= secret_bytes_min) {
            return text.size();
        } else if (rest.front() == wanted.front() || (rest.front() == '+' && wanted[0] == ' ')) {
            ++at;
            ++taken;
        } else {
            return 0;
        }
    }
    return taken == secret.size() || taken >= secret_bytes_min ? at : 0;
}

/// Bytes of the longest secret that is spelled at the begin of `text`; 0: none.
std::size_t secret_bytes(std::string_view text, const std::vector<std::string>& secrets) {
    for (const std::string& secret : secrets) {
        if (secret.empty()) {
            continue;
        }
        if (text.starts_with(secret)) {
            return secret.size();
        }
        if (const std::size_t bytes = spelled_bytes(text, secret); bytes > 0) {
            return bytes;
        }
    }
    return 0;
}

}  // namespace

std::string masked(std::string_view text, const std::vector<std::string>& secrets,
                   std::size_t bytes_max) {
    std::string begins = "\\%&+";  // what a spelled secret may begin with
    for (const std::string& secret : secrets) {
        begins += secret.substr(0, 1);
    }
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = text.find_first_of(begins); !secrets.empty() && at < text.size();
         at = text.find_first_of(begins, at)) {
        const std::size_t bytes = secret_bytes(text.substr(at), secrets);
        if (bytes == 0) {
            ++at;
            continue;
        }
        out += text.substr(copied, at - copied);
        out += mask_text;
        at += bytes;
        copied = at;
    }
    out += text.substr(copied);
    out.resize(cut_at_code_point(out, bytes_max).size());
    return out;
}

}  // namespace driftless
