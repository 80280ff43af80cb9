#include "cmd/mock/prompt_count.hpp"

#include <bit>
#include <cstring>

namespace driftless::mock {

std::span<const TokenId> TextTokens::encode(std::string_view escaped) {
    quoted_.assign(1, '"').append(escaped).append(1, '"');
    ids_.clear();
    const Result<JsonValue> parsed = document_.parse(quoted_);
    const auto text = parsed ? parsed.value().as_string() : std::nullopt;
    if (text) {
        tokenizer_.encode(*text, ids_);
    }
    return ids_;
}

static_assert(std::endian::native == std::endian::little, "words are read as little-endian groups");

static constexpr std::uint64_t each_byte = 0x0101010101010101ULL;
static constexpr std::uint64_t high_bits = 0x8080808080808080ULL;
/// Closes a word: a byte that UTF-8 never holds, so that "ab"+"c" and "abc" cannot meet.
static constexpr std::uint64_t word_end = 0xFF;

/// Numbers of the template's tokens, so that head and tail differ.
static constexpr std::uint32_t template_head_first = 1;
static constexpr std::uint32_t template_tail_first = 1u << 20;

static std::uint64_t load(const char* at) {
    std::uint64_t group;
    std::memcpy(&group, at, sizeof group);
    return group;
}

/// The high bit of each zero byte, exactly (no carry from byte to byte).
static constexpr std::uint64_t zero_bytes(std::uint64_t group) {
    return ~(((group & ~high_bits) + ~high_bits) | group | ~high_bits);
}
static constexpr std::uint64_t bytes_equal(std::uint64_t group, char byte) {
    return zero_bytes(group ^ (each_byte * static_cast<unsigned char>(byte)));
}
/// High bits of eight bytes as eight bits, the first byte lowest.
static constexpr std::uint64_t gather_bits(std::uint64_t found) {
    return ((found >> 7) * 0x0102040810204080ULL) >> 56;
}

namespace {

/// What ends a word of a text: blank (0x20) and quote (0x22), which differ in one bit, and the
/// backslash that begins an escape.
struct TextEnds {
    static constexpr char separator = ' ';
    static std::uint64_t find(std::uint64_t group) {
        return zero_bytes((group | each_byte * 0x02) ^ (each_byte * 0x22)) |
               bytes_equal(group, '\\');
    }
};
/// What ends an item of an array: comma, bracket, and blanks, which all lie below 0x21.
struct IdEnds {
    static constexpr char separator = ',';
    static std::uint64_t find(std::uint64_t group) {
        const std::uint64_t not_blank = ((group & ~high_bits) + each_byte * (0x80 - 0x21)) | group;
        return bytes_equal(group, ',') | bytes_equal(group, ']') | (~not_blank & high_bits);
    }
};

}  // namespace

static constexpr std::ptrdiff_t stride = 64;

/// One bit for each of the next 64 bytes that ends a word.
template <typename Ends>
static std::uint64_t find_ends(const char* at) {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < 8; ++i) {
        mask |= gather_bits(Ends::find(load(at + 8 * i))) << (8 * i);
    }
    return mask;
}

/// The first `bytes` (0..7) bytes of a group, closed as a word.
static constexpr std::uint64_t close_word(std::uint64_t group, unsigned bytes) {
    const unsigned bits = 8 * bytes;
    return (group & ((std::uint64_t{1} << bits) - 1)) | (word_end << bits);
}

/// One step of a running hash; a bijection in either argument.
static constexpr std::uint64_t step(std::uint64_t state, std::uint64_t value) {
    state = (state ^ value) * golden_gamma;
    return state ^ (state >> 29);
}

static unsigned hex_digit(char byte) {
    const auto c = static_cast<unsigned char>(byte);
    return c <= '9' ? c & 15u : (c & 15u) + 9u;
}

std::uint64_t word_number(std::string_view word) {
    std::uint64_t folded = 0;
    std::uint64_t piece = 0;
    unsigned bytes = 0;
    for (const char byte : word) {
        piece |= std::uint64_t{static_cast<unsigned char>(byte)} << (8 * bytes);
        if (++bytes == 8) {
            folded = step(folded, piece);
            piece = 0;
            bytes = 0;
        }
    }
    const std::uint64_t rest = close_word(piece, bytes);
    return folded == 0 ? rest : step(folded, rest);
}

void PromptCount::reset(std::uint32_t block_tokens, TemplateTokens around, TextTokens* texts,
                        const WordRules* rules) {
    rules_ = rules != nullptr && !rules->empty() ? rules : nullptr;
    waiting_ = 0;
    opens_ = true;
    chain_ = folded_ = piece_ = 0;
    piece_bytes_ = escape_ = 0;
    code_unit_ = 0;
    tokens_ = 0;
    block_tokens_ = until_block_ = block_tokens;  // 0 counts down through 2^32 and never ends
    around_ = around;
    texts_ = texts;
    held_.clear();
    has_text_ = recording_ = too_long_ = false;
    blocks_.clear();
    recorded_.clear();
}

inline void PromptCount::add_token(std::uint64_t word, std::uint32_t number) {
    chain_ = step(chain_, word);
    ++tokens_;
    if (--until_block_ == 0) {
        blocks_.push_back(mix64(chain_));
        until_block_ = block_tokens_;
    }
    if (recording_) {
        recorded_.push_back(number);
    }
}

inline void PromptCount::add_word_token(std::uint64_t word) {
    if (rules_ == nullptr || !has_text_) [[likely]] {
        add_token(word);
    } else {
        add_by_rules(word);
    }
}

/// A word waits until it is known what is beside it.
void PromptCount::add_by_rules(std::uint64_t word) {
    if (waiting_ != 0 && rules_->joins(waiting_, word)) {
        add_token(step(waiting_, word));
        waiting_ = 0;
        opens_ = false;
        return;
    }
    end_waiting();
    waiting_ = word;
}

void PromptCount::end_waiting() {
    if (waiting_ == 0) {
        return;
    }
    add_token(waiting_);
    if (rules_->splits(waiting_) || (opens_ && rules_->splits_first(waiting_))) {
        add_token(~waiting_);  // its second half
    }
    opens_ = false;
    waiting_ = 0;
}

/// Template tokens, numbered from `first_id`: the same numbers are the same tokens.
void PromptCount::add_template(std::uint32_t tokens, std::uint32_t first_id) {
    for (std::uint32_t i = 0; i < tokens; ++i) {
        add_token(first_id + i);  // no word has this value: it holds no end mark
    }
}

void PromptCount::begin_text() {
    if (!has_text_) {
        has_text_ = true;
        add_template(around_.pre, template_head_first);
    }
}

void PromptCount::finish() {
    if (has_text_) {
        add_template(around_.post, template_tail_first);
    }
}

inline void PromptCount::end_word() {
    if (piece_bytes_ == 0 && folded_ == 0) {
        return;
    }
    const std::uint64_t rest = close_word(piece_, piece_bytes_);
    add_word_token(folded_ == 0 ? rest : step(folded_, rest));
    folded_ = piece_ = 0;
    piece_bytes_ = 0;
}

void PromptCount::end_value() {
    if (!held_.empty()) {
        encode_held();
    }
    end_word();
    end_waiting();
    escape_ = 0;
}

void PromptCount::add_byte(char byte) {
    piece_ |= std::uint64_t{static_cast<unsigned char>(byte)} << (8 * piece_bytes_);
    if (++piece_bytes_ == 8) {
        folded_ = step(folded_, piece_);
        piece_ = 0;
        piece_bytes_ = 0;
    }
}

/// A \uXXXX escape is complete: a blank, or the UTF-8 bytes that it stands for. Halves of a
/// surrogate pair are taken one by one; they only have to be the same every time.
void PromptCount::add_code_unit() {
    const std::uint32_t unit = code_unit_;
    if (unit <= 0x20) {
        end_word();
    } else if (unit < 0x80) {
        add_byte(static_cast<char>(unit));
    } else if (unit < 0x800) {
        add_byte(static_cast<char>(0xC0 | (unit >> 6)));
        add_byte(static_cast<char>(0x80 | (unit & 0x3F)));
    } else {
        add_byte(static_cast<char>(0xE0 | (unit >> 12)));
        add_byte(static_cast<char>(0x80 | ((unit >> 6) & 0x3F)));
        add_byte(static_cast<char>(0x80 | (unit & 0x3F)));
    }
}

/// One byte of a string, the slow way: inside a word that was cut, an escape, or the last bytes.
void PromptCount::text_byte(char byte) {
    if (escape_ == 0) {
        if (byte == '\\') {
            escape_ = 1;
        } else if (byte == ' ') {
            end_word();
        } else {
            add_byte(byte);
        }
    } else if (escape_ == 1) {
        escape_ = 0;
        if (byte == 'u') {
            escape_ = 2;
            code_unit_ = 0;
        } else if (byte == 'n' || byte == 't' || byte == 'r' || byte == 'f') {
            end_word();
        } else {
            add_byte(byte);
        }
    } else {
        code_unit_ = (code_unit_ << 4 | hex_digit(byte)) & 0xFFFF;
        if (++escape_ == 6) {
            escape_ = 0;
            add_code_unit();
        }
    }
}

/// A whole word of `bytes` >= 1; eight bytes from each of its groups on can be read.
inline void PromptCount::add_word(const char* at, std::size_t bytes) {
    std::uint64_t folded = 0;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        folded = step(folded, load(at));
    }
    const std::uint64_t rest = close_word(load(at), static_cast<unsigned>(bytes));
    add_word_token(folded == 0 ? rest : step(folded, rest));
}

/// Words that lie whole in [at, end), 64 bytes a look. Returns the start of the first one that
/// needs the slow way: it ends otherwise than with a separator, or too near to `end`.
template <typename Ends>
const char* PromptCount::scan(const char* at, const char* end) {
    const char* word = at;
    for (; end - at >= stride + 8; at += stride) {
        for (std::uint64_t ends = find_ends<Ends>(at); ends != 0; ends &= ends - 1) {
            const char* const stop = at + std::countr_zero(ends);
            if (*stop != Ends::separator) {
                return word;
            }
            if (stop != word) {
                add_word(word, static_cast<std::size_t>(stop - word));
            }
            word = stop + 1;
        }
    }
    return word;
}

/// Keeps the text up to the quote that ends it.
std::size_t PromptCount::hold_text(std::string_view bytes) {
    std::size_t used = 0;
    for (; used < bytes.size() && (bytes[used] != '"' || escape_ == 1); ++used) {
        escape_ = bytes[used] == '\\' && escape_ == 0 ? 1 : 0;
    }
    too_long_ = too_long_ || held_.size() + used > held_text_bytes_max;
    if (!too_long_) {
        held_.append(bytes.substr(0, used));
    }
    return used;
}

void PromptCount::encode_held() {
    for (const TokenId id : texts_->encode(held_)) {
        add_token(mix64(id), id);
    }
    held_.clear();
}

std::size_t PromptCount::add_text(std::string_view bytes) {
    if (texts_ != nullptr) {
        return hold_text(bytes);
    }
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at != end) {
        if (piece_bytes_ == 0 && folded_ == 0 && escape_ == 0) {
            at = scan<TextEnds>(at, end);
            if (at == end) {
                break;
            }
        }
        if (*at == '"' && escape_ != 1) {
            break;
        }
        text_byte(*at++);
    }
    return static_cast<std::size_t>(at - bytes.data());
}

std::size_t PromptCount::add_ids(std::string_view bytes) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at != end) {
        if (piece_bytes_ == 0 && folded_ == 0) {
            at = scan<IdEnds>(at, end);
            if (at == end) {
                break;
            }
        }
        if (*at == ']') {
            break;
        }
        if (*at == ',' || static_cast<unsigned char>(*at) <= 0x20) {
            end_word();
        } else {
            add_byte(*at);
        }
        ++at;
    }
    return static_cast<std::size_t>(at - bytes.data());
}

}  // namespace driftless::mock
