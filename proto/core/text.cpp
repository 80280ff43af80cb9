#include "proto/core/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>

namespace driftless {

std::vector<std::string_view> words_in(std::string_view text, std::string_view between) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        if (const std::string_view word = take_until(text, between); !word.empty()) {
            words.push_back(word);
        }
    }
    return words;
}

char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char byte) { return lower(byte); });
    return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

/// Letters that are replaced, missing, too many, or swapped with their neighbour (the optimal
/// string alignment distance). Names are short: three rows of the matrix are enough.
static std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

static std::size_t shared_beginning(std::string_view a, std::string_view b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Names that were begun but not ended: "--timeout" of "--timeout-idle"; joined for people. Empty
/// where there is none, or too many to choose from.
static std::string names_begun(std::string_view typed, std::size_t dashes,
                               const std::vector<std::string>& names) {
    constexpr std::size_t letters_min = 3;
    constexpr std::size_t names_max = 4;
    std::vector<std::string_view> begun;
    for (const std::string& name : names) {
        if (typed.size() >= dashes + letters_min && std::string_view(name).starts_with(typed)) {
            begun.push_back(name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < begun.size() && begun.size() <= names_max; ++i) {
        text += i == 0 ? "" : i + 1 == begun.size() ? " or " : ", ";
        text += begun[i];
    }
    return text;
}

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (typed != name && equal_ignoring_case(typed, name)) {
            return name;
        }
    }
    constexpr std::size_t edits_max = 2;
    const std::size_t dashes = std::min(typed.find_first_not_of('-'), typed.size());
    std::size_t least = edits_max + 1;
    std::size_t most_shared = 0;
    std::string nearest;
    for (const std::string& name : names) {
        const std::size_t edits = edits_between(typed, name);
        const std::size_t shared = shared_beginning(typed, name);
        // Two edits make almost any short name of another, as --api of --qps: its first letter
        // must be right, and one letter more must be left.
        if (edits == edits_max && (shared <= dashes || name.size() <= dashes + edits)) {
            continue;
        }
        if (edits < least || (edits == least && edits <= edits_max && shared > most_shared)) {
            least = edits;
            most_shared = shared;
            nearest = name;
        }
    }
    return nearest.empty() ? names_begun(typed, dashes, names) : nearest;
}

std::string did_you_mean(std::string_view typed, std::string_view list) {
    list = list.substr(0, list.find_first_of(";("));
    std::vector<std::string> names;
    for (const std::string_view name : words_in(list, ", ")) {
        if (name != "or") {
            names.emplace_back(name);
        }
    }
    const std::string nearest = nearest_name(typed, names);
    return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

static unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}
static bool continues(std::string_view text, std::size_t at) {
    return at < text.size() && (byte_at(text, at) & 0xC0u) == 0x80u;
}

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

}  // namespace

static constexpr Range unprintable[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD},   {0x061C, 0x061C},
    {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

/// The code point of valid UTF-8.
static std::uint32_t decode(std::string_view bytes) {
    constexpr std::uint32_t lead_bits[] = {0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t code = static_cast<std::uint8_t>(bytes[0]) & lead_bits[bytes.size() - 1];
    for (const char byte : bytes.substr(1)) {
        code = code << 6 | (static_cast<std::uint8_t>(byte) & 0x3F);
    }
    return code;
}

static void append_escaped(std::string& out, std::uint32_t code) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += code > 0xFFFF ? "\\U" : "\\u";
    for (int shift = code > 0xFFFF ? 28 : 12; shift >= 0; shift -= 4) {
        out += hex[code >> shift & 15];
    }
}

/// Offset of the first byte from `at` on that is U+007F or belongs to no ASCII character.
static std::size_t find_beyond_ascii(std::string_view text, std::size_t at) {
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

static void append_json_escape(std::string& out, std::uint32_t code) {
    if (code > 0xFFFF) {  // a surrogate pair (RFC 8259, section 7)
        append_escaped(out, 0xD800 + ((code - 0x10000) >> 10));
        append_escaped(out, 0xDC00 + (code & 0x3FF));
    } else {
        append_escaped(out, code);
    }
}

static std::string escaped(std::string_view text, bool keeps_lines) {
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

bool is_unprintable(std::uint32_t code_point) {
    return std::ranges::any_of(unprintable, [code_point](const Range& range) {
        return code_point >= range.first && code_point <= range.last;
    });
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

namespace {

/// A character as some escape spells it.
struct Spelled {
    std::size_t bytes = 0;  ///< of the escape; 0: there is none
    std::string character;  ///< as UTF-8
};

}  // namespace

/// The number that up to `digits_max` digits at the begin of `text` write; no bytes: none.
static Spelled read_code(std::string_view text, std::uint32_t base, std::size_t digits_max) {
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
static Spelled read_backslashes(std::string_view text) {
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

/// `%2F`; what stands from `at` on, behind the percent sign.
static Spelled read_percent(std::string_view text, std::size_t at = 1) {
    const Spelled code = read_code(text.substr(at), 16, 2);
    return code.bytes == 2 ? Spelled{at + 2, code.character} : Spelled{};
}

/// `%252F`, where a URL is inside another.
static Spelled read_percent_twice(std::string_view text) {
    std::size_t at = 1;
    while (text.substr(at).starts_with("25")) {  // ends: it moves on
        at += 2;
    }
    return at > 1 ? read_percent(text, at) : Spelled{};
}

/// `&amp;`, `&#47;`, `&#x2F;`.
static Spelled read_entity(std::string_view text) {
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

static Spelled read_escape(std::string_view text) {
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
static bool is_begun_escape(std::string_view text) {
    constexpr std::size_t escape_bytes_max = 8;
    return text.size() <= escape_bytes_max &&
           std::string_view("\\%&").find(text.front()) != std::string_view::npos;
}

/// Bytes at the begin of `text` that spell `secret`, as it is or escaped character by character; or
/// that spell so much of it that the text ends in a head of it. 0: neither.
static std::size_t spelled_bytes(std::string_view text, std::string_view secret) {
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
static std::size_t secret_bytes(std::string_view text, const std::vector<std::string>& secrets) {
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
