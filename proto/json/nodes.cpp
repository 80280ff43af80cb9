#include "proto/json/nodes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "proto/core/text.hpp"

namespace driftless {

// The byte that a backslash and `letter` stand for; 0 where there is none.
static char simple_escape(char letter) {
    constexpr std::string_view letters = "n\"\\/bfrt";
    constexpr std::string_view meant = "\n\"\\/\b\f\r\t";
    const std::size_t at = letters.find(letter);
    return at == letters.npos ? '\0' : meant[at];
}

static constexpr std::uint32_t no_hex = 0x110000;  // one above the last code point

// The value of four hex digits at the head of `text`, or `no_hex`.
static std::uint32_t read_hex4(std::string_view text) {
    if (text.size() < 4) {
        return no_hex;
    }
    std::uint32_t value = 0;
    const char* const end = text.data() + 4;
    return std::from_chars(text.data(), end, value, 16).ptr == end ? value : no_hex;
}

// Reads the code point after `\u`; takes a second escape where both make a surrogate pair.
// `no_hex` where the first is no escape at all.
static std::uint32_t take_code_point(std::string_view& rest) {
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

static_assert(std::endian::native == std::endian::little, "digits are read as bytes of a word");

static constexpr std::size_t digits_max = 20;  // of 2^64 - 1

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char* skip_blanks(const char* p) {
    while (is_blank(*p)) {
        ++p;
    }
    return p;
}

/// Eight digits as the bytes of a word, the first one lowest, to their value: pairs, fours, eight.
static std::uint64_t value_of_eight(std::uint64_t digits) {
    constexpr std::uint64_t pairs = 0x0000'00FF'0000'00FF;
    digits = digits * 10 + (digits >> 8);
    const std::uint64_t high = (digits & pairs) * 0x000F'4240'0000'0064;
    const std::uint64_t low = ((digits >> 16) & pairs) * 0x0000'2710'0000'0001;
    return (high + low) >> 32;
}

/// Where the number ends, or nullptr where none begins.
static const char* read_long(const char* p, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(p, p + digits_max, out);
    return error == std::errc() ? end : nullptr;
}

const char* read_integer(const char* p, std::uint64_t& out) {
    std::uint64_t digits = 0;
    std::memcpy(&digits, p, sizeof digits);
    digits ^= 0x3030'3030'3030'3030;
    // The high bit of each byte that is no digit. A carry comes from such a byte only, and what
    // is behind the first one does not matter.
    const std::uint64_t others =
        ((digits + 0x7676'7676'7676'7676) | digits) & 0x8080'8080'8080'8080;
    const int count = std::countr_zero(others) / 8;
    if (count == 0 || (count > 1 && *p == '0')) {
        return nullptr;
    }
    if (count == 8) {
        return read_long(p, out);
    }
    out = value_of_eight(digits << (64 - 8 * count));
    return p + count;
}

IntegerList read_integer_list(const char* text, std::uint64_t* out, std::size_t room) {
    const char* p = text;
    for (std::size_t count = 0; count < room; ++count) {
        p = read_integer(skip_blanks(p), out[count]);
        if (p == nullptr) {
            return {};
        }
        p = skip_blanks(p);
        if (*p == ']') {
            return {count + 1, p};
        }
        if (*p++ != ',') {
            return {};
        }
    }
    return {};
}

// The end of the digits that begin at `p`, or nullptr where none do.
static const char* digits_end(const char* p) {
    const char* const begin = p;
    while (is_digit(*p)) {
        ++p;
    }
    return p == begin ? nullptr : p;
}

// The end of the number that begins at `p`, or nullptr. The text ends with spaces, so that no digit
// run leaves it.
static const char* number_end(const char* p) {
    p += *p == '-';
    p = *p == '0' ? p + 1 : digits_end(p);
    if (p != nullptr && *p == '.') {
        p = digits_end(p + 1);
    }
    if (p != nullptr && (*p == 'e' || *p == 'E')) {
        ++p;
        p = digits_end(p + (*p == '+' || *p == '-'));
    }
    return p;
}

namespace {

class Walker {
  public:
    Walker(JsonNodes& out, const std::uint32_t* structural, std::size_t structurals, bool escapes,
           bool packs)
        : out_(out),
          text_(out.text.data()),
          structural_(structural),
          structurals_(structurals),
          text_has_escapes_(escapes),
          packs_(packs) {}

    JsonFailure run();

  private:
    // What may be at the next structural character.
    enum class Expect : std::uint8_t { value, first_value, first_name, name, colon, separator };

    // A level of nesting: the container that opened it, and what was known of the one around.
    struct Level {
        std::uint32_t container;
        std::uint32_t outer_size;
        bool outer_is_object;
    };

    bool take(std::uint32_t at);
    bool take_value(std::uint32_t at);
    bool take_name(std::uint32_t at);
    bool take_separator(std::uint32_t at);
    bool pack(std::uint32_t at);
    bool open(std::uint32_t at, JsonType type);
    bool close(std::uint32_t at, char bracket);
    bool take_string(std::uint32_t at);
    bool take_number(std::uint32_t at);
    bool take_word(std::uint32_t at, std::string_view word, JsonType type);
    JsonNode& add(std::uint32_t begin, std::uint32_t end, JsonType type);
    std::uint32_t token_end() const;

    JsonNodes& out_;
    const char* text_;
    const std::uint32_t* structural_;
    std::size_t structurals_;
    bool text_has_escapes_;
    bool packs_;

    std::size_t next_ = 0;  ///< structural characters taken
    std::uint32_t nodes_ = 0;
    std::uint32_t unescaped_ = 0;
    std::uint32_t integers_ = 0;
    std::uint32_t latest_ = 0;  ///< the sibling that was completed last at the current level
    Expect expect_ = Expect::value;
    bool too_deep_ = false;
    bool in_object_ = false;
    std::uint32_t size_ = 0;  ///< values of the innermost container so far
    unsigned depth_ = 0;
    std::array<Level, json_depth_max> outer_;  ///< [depth_] what was interrupted by each opening
};

}  // namespace

JsonFailure Walker::run() {
    while (next_ < structurals_) {
        const std::uint32_t at = structural_[next_++];
        if (!take(at)) {
            return {true, too_deep_, at};
        }
    }
    const bool complete = depth_ == 0 && nodes_ > 0;
    return {!complete, false, out_.text_bytes};
}

bool Walker::take(std::uint32_t at) {
    switch (expect_) {
        case Expect::first_value:
            return text_[at] == ']' ? close(at, ']') : take_value(at);
        case Expect::value:
            return take_value(at);
        case Expect::first_name:
            return text_[at] == '}' ? close(at, '}') : take_name(at);
        case Expect::name:
            return take_name(at);
        case Expect::colon:
            expect_ = Expect::value;
            return text_[at] == ':';
        case Expect::separator:
            return take_separator(at);
    }
    return false;
}

bool Walker::take_value(std::uint32_t at) {
    expect_ = Expect::separator;
    switch (text_[at]) {
        case '{':
            return open(at, JsonType::object);
        case '[':
            return (packs_ && pack(at)) || open(at, JsonType::array);
        case '"':
            return take_string(at);
        case 't':
            return take_word(at, "true", JsonType::boolean);
        case 'f':
            return take_word(at, "false", JsonType::boolean);
        case 'n':
            return take_word(at, "null", JsonType::null);
        default:
            return take_number(at);
    }
}

bool Walker::take_name(std::uint32_t at) {
    expect_ = Expect::colon;
    return text_[at] == '"' && take_string(at);
}

bool Walker::take_separator(std::uint32_t at) {
    if (depth_ == 0) {
        return false;  // something follows the root
    }
    if (text_[at] == ',') {
        expect_ = in_object_ ? Expect::name : Expect::value;
        return true;
    }
    return close(at, in_object_ ? '}' : ']');
}

JsonNode& Walker::add(std::uint32_t begin, std::uint32_t end, JsonType type) {
    JsonNode& node = out_.nodes[nodes_];
    node.begin = begin;
    node.end = end;
    node.type = type;
    const bool is_value = expect_ == Expect::separator;  // else a name
    node.has_escapes = false;
    node.is_member = is_value && in_object_;
    node.is_last = depth_ == 0;
    if (is_value) {
        ++size_;
        latest_ = nodes_;
    }
    ++nodes_;
    return node;
}

// Takes a whole array of integers. False where it is no such array: then nothing was taken.
bool Walker::pack(std::uint32_t at) {
    const std::size_t room = (structurals_ - next_) / 2;  // each number and what ends it
    const IntegerList list =
        read_integer_list(text_ + at + 1, out_.integers.get() + integers_, room);
    if (list.count == 0) {
        return false;
    }
    // Only where the text still goes there is a structural character.
    const auto end = static_cast<std::uint32_t>(list.end - text_);
    if (structural_[next_ + 2 * list.count - 1] != end) {
        return false;
    }
    JsonNode& node = add(at, end + 1, JsonType::array);
    node.is_packed = true;
    node.integers = integers_;
    node.size = static_cast<std::uint32_t>(list.count);
    integers_ += node.size;
    next_ += 2 * list.count;
    return true;
}

bool Walker::open(std::uint32_t at, JsonType type) {
    if (depth_ == json_depth_max) {
        too_deep_ = true;
        return false;
    }
    const std::uint32_t container = nodes_;
    add(at, at + 1, type);
    outer_[depth_++] = {container, size_, in_object_};
    size_ = 0;
    in_object_ = type == JsonType::object;
    expect_ = in_object_ ? Expect::first_name : Expect::first_value;
    return true;
}

bool Walker::close(std::uint32_t at, char bracket) {
    if (text_[at] != bracket) {
        return false;
    }
    const Level& level = outer_[--depth_];
    JsonNode& node = out_.nodes[level.container];
    node.end = at + 1;
    node.after = nodes_;
    node.size = size_;
    if (size_ > 0) {
        out_.nodes[latest_].is_last = true;
    }
    latest_ = level.container;
    size_ = level.outer_size;
    in_object_ = level.outer_is_object;
    expect_ = Expect::separator;
    return true;
}

// Where the token that begins at the structural character just taken ends, blanks excluded.
std::uint32_t Walker::token_end() const {
    std::uint32_t end =
        next_ < structurals_ ? structural_[next_] : static_cast<std::uint32_t>(out_.text_bytes);
    while (is_blank(text_[end - 1])) {  // ends at the token's own first byte at the latest
        --end;
    }
    return end;
}

bool Walker::take_string(std::uint32_t at) {
    // Nothing inside a string is structural, so that its closing quote is what is before the
    // next structural character.
    const std::uint32_t end = token_end();
    if (end - at < 2 || text_[end - 1] != '"') {
        return false;
    }
    JsonNode& node = add(at, end, JsonType::string);
    if (!text_has_escapes_) {
        return true;
    }
    const std::string_view inner{text_ + at + 1, end - at - 2};
    if (std::memchr(inner.data(), '\\', inner.size()) == nullptr) {
        return true;
    }
    char* const begin = out_.unescaped.get() + unescaped_;
    char* const done = unescape_json(inner, begin);
    if (done == nullptr) {
        return false;
    }
    node.has_escapes = true;
    node.unescaped = unescaped_;
    node.unescaped_bytes = static_cast<std::uint32_t>(done - begin);
    unescaped_ += node.unescaped_bytes;
    return true;
}

bool Walker::take_number(std::uint32_t at) {
    const char* const end = number_end(text_ + at);
    if (end == nullptr || text_ + token_end() != end) {
        return false;
    }
    add(at, static_cast<std::uint32_t>(end - text_), JsonType::number);
    return true;
}

bool Walker::take_word(std::uint32_t at, std::string_view word, JsonType type) {
    const std::uint32_t end = token_end();
    if (std::string_view{text_ + at, end - at} != word) {
        return false;
    }
    add(at, end, type);
    return true;
}

void JsonNodes::reserve(std::size_t nodes_wanted, std::size_t unescaped_wanted,
                        std::size_t integers_wanted) {
    const auto grow = []<typename T>(std::unique_ptr<T[]>& held, std::size_t& most,
                                     std::size_t wanted) {
        if (wanted > most) {
            most = std::max(wanted, 2 * most);
            held = std::make_unique_for_overwrite<T[]>(most);
        }
    };
    grow(nodes, nodes_max, nodes_wanted);
    grow(unescaped, unescaped_max, unescaped_wanted);
    grow(integers, integers_max, integers_wanted);
}

JsonFailure build_nodes(JsonNodes& out, const std::uint32_t* structural, std::size_t structurals,
                        bool has_escapes, bool packs) {
    return Walker(out, structural, structurals, has_escapes, packs).run();
}

}  // namespace driftless
