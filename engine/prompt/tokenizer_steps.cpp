/// Code points, and the steps of a tokenizer around its merges.

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

// GPT-2's alphabet: every byte has a printable code point that stands for it, so that its
// vocabulary can be written as text. Bytes that print stand for themselves; the others get the code
// points from U+0100 on, in order: a blank is U+0120.
static constexpr bool prints(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

static constexpr std::uint32_t letters_end = 0x100 + 68;

namespace {

struct Alphabet {
    std::array<std::uint16_t, 256> letter{};
    std::array<std::int16_t, letters_end> byte{};

    constexpr Alphabet() {
        byte.fill(-1);
        std::uint16_t next = 0x100;
        for (unsigned i = 0; i < 256; ++i) {
            letter[i] = prints(i) ? static_cast<std::uint16_t>(i) : next++;
            byte[letter[i]] = static_cast<std::int16_t>(i);
        }
    }
};

}  // namespace

static constexpr Alphabet alphabet;
static_assert(alphabet.letter[' '] == 0x120 && alphabet.byte[letters_end - 1] == 0xAD);

static utf8proc_category_t category(std::uint32_t code_point) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

static void append_utf8(std::string& out, std::uint32_t code_point) {
    char bytes[4];
    out.append(bytes, static_cast<std::size_t>(write_utf8(bytes, code_point) - bytes));
}

static bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// General categories Nd, Nl, No.
static bool is_numeric(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point >= '0' && code_point <= '9';
    }
    const utf8proc_category_t of = category(code_point);
    return of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO;
}

/// ASCII punctuation (symbols like $ and + included) and the general categories P*.
static bool is_punctuation(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return (code_point >= '!' && code_point <= '/') ||
               (code_point >= ':' && code_point <= '@') ||
               (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
    }
    const utf8proc_category_t of = category(code_point);
    return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

/// Appends every byte of `bytes` as its letter.
static void append_letters(std::string& out, std::string_view bytes) {
    for (const char byte : bytes) {
        append_utf8(out, alphabet.letter[static_cast<unsigned char>(byte)]);
    }
}

CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    if (lead < 0xE0) {
        return {(lead & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
    }
    if (lead < 0xF0) {
        return {(lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), 3};
    }
    return {
        (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU),
        4};
}

CodePoint last_code_point(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
        --begin;
    }
    return first_code_point(text.substr(begin));
}

bool is_white_space(std::uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
    }
    return code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
           (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 ||
           code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
           code_point == 0x3000;
}

// \w there is [\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]. Alphabetic is L, Nl and
// Other_Alphabetic; of the latter, all that is no mark are the circled and squared Latin letters.
bool is_word_character(std::uint32_t code_point) {
    const utf8proc_category_t of = category(code_point);
    const bool letter = of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
    const bool enclosed_letter = (code_point >= 0x24B6 && code_point <= 0x24E9) ||
                                 (code_point >= 0x1F130 && code_point <= 0x1F149) ||
                                 (code_point >= 0x1F150 && code_point <= 0x1F169) ||
                                 (code_point >= 0x1F170 && code_point <= 0x1F189);
    const bool joiner = code_point == 0x200C || code_point == 0x200D;
    return letter || is_mark(code_point) || of == UTF8PROC_CATEGORY_ND ||
           of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_PC || enclosed_letter || joiner;
}

bool is_mark(std::uint32_t code_point) {
    const utf8proc_category_t of = category(code_point);
    return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

bool append_bytes_of_letters(std::string& out, std::string_view letters) {
    const std::size_t before = out.size();
    while (!letters.empty()) {
        const CodePoint point = first_code_point(letters);
        if (point.value >= letters_end || alphabet.byte[point.value] < 0) {
            out.resize(before);
            return false;
        }
        out.push_back(static_cast<char>(alphabet.byte[point.value]));
        letters.remove_prefix(point.bytes);
    }
    return true;
}

static constexpr std::uint32_t capital_i_with_dot = 0x130;
static constexpr std::uint32_t combining_dot_above = 0x307;

/// [nfc to nfkd]
static constexpr int forms[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE,
                                UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};

static void to_form(std::string& text, NormalizerStep::Kind kind) {
    if (is_ascii(text)) {
        return;  // every form of ASCII is itself
    }
    utf8proc_uint8_t* result = nullptr;
    const utf8proc_ssize_t bytes = utf8proc_map(
        reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
        static_cast<utf8proc_ssize_t>(text.size()), &result,
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | forms[static_cast<int>(kind)]));
    CHECK(bytes >= 0);  // fails on invalid UTF-8 and without memory only
    text.assign(reinterpret_cast<const char*>(result), static_cast<std::size_t>(bytes));
    std::free(result);
}

template <typename EachCodePoint>
static void rewrite(std::string& text, std::string& scratch, EachCodePoint each) {
    scratch.clear();
    for (std::string_view left = text; !left.empty();) {
        const CodePoint point = first_code_point(left);
        each(scratch, point, left.substr(0, point.bytes));
        left.remove_prefix(point.bytes);
    }
    text.swap(scratch);
}

static void to_lower(std::string& text, std::string& scratch) {
    rewrite(text, scratch, [](std::string& out, CodePoint point, std::string_view) {
        if (point.value == capital_i_with_dot) {  // the only one that becomes two
            out += 'i';
            append_utf8(out, combining_dot_above);
            return;
        }
        const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(point.value));
        append_utf8(out, static_cast<std::uint32_t>(lower));
    });
}

static void drop_marks(std::string& text, std::string& scratch) {
    rewrite(text, scratch, [](std::string& out, CodePoint point, std::string_view bytes) {
        if (!is_mark(point.value)) {
            out += bytes;
        }
    });
}

static void strip(std::string& text, bool left, bool right) {
    std::string_view rest = text;
    while (left && !rest.empty() && is_white_space(first_code_point(rest).value)) {
        rest.remove_prefix(first_code_point(rest).bytes);
    }
    while (right && !rest.empty() && is_white_space(last_code_point(rest).value)) {
        rest.remove_suffix(last_code_point(rest).bytes);
    }
    text = std::string(rest);
}

/// Each match by `other`.
static void replace(std::string& text, Pattern& pattern, const std::string& other,
                    std::string& scratch) {
    std::size_t done = 0;
    scratch.clear();
    Pattern::Search search;
    while (const auto match = pattern.next(text, search)) {
        scratch.append(text, done, match->begin - done);
        scratch += other;
        done = match->end;
    }
    scratch.append(text, done);
    text.swap(scratch);
}

bool Normalizer::to_letters() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const NormalizerStep& step) {
        return step.kind == NormalizerStep::Kind::letters;
    });
}

void Normalizer::run(std::string& text) {
    for (NormalizerStep& step : steps_) {
        switch (step.kind) {
            case NormalizerStep::Kind::nfc:
            case NormalizerStep::Kind::nfd:
            case NormalizerStep::Kind::nfkc:
            case NormalizerStep::Kind::nfkd:
                to_form(text, step.kind);
                break;
            case NormalizerStep::Kind::lowercase:
                to_lower(text, scratch_);
                break;
            case NormalizerStep::Kind::strip:
                strip(text, step.left, step.right);
                break;
            case NormalizerStep::Kind::strip_accents:
                drop_marks(text, scratch_);
                break;
            case NormalizerStep::Kind::prepend:
                if (!text.empty()) {
                    text.insert(0, step.text);
                }
                break;
            case NormalizerStep::Kind::replace:
                replace(text, step.pattern, step.text, scratch_);
                break;
            case NormalizerStep::Kind::letters:
                scratch_.clear();
                append_letters(scratch_, text);
                text.swap(scratch_);
                break;
        }
    }
}

static bool belongs(SplitStep::Kind kind, std::uint32_t code_point) {
    switch (kind) {
        case SplitStep::Kind::digits:
            return is_numeric(code_point);
        case SplitStep::Kind::punctuation:
            return is_punctuation(code_point);
        default:
            return is_white_space(code_point);
    }
}

void Splitter::add(SplitStep step) {
    has_letters_ = has_letters_ || step.kind == SplitStep::Kind::letters;
    steps_.push_back(std::move(step));
}

void Splitter::cut_all(SplitStep& step) {
    next_spans_.clear();
    for (const Span& piece : spans_) {
        found_.clear();
        find_matches(step, text_.substr(piece.begin, piece.end - piece.begin));
        if (step.invert) {
            for (Span& span : found_) {
                span.matched = !span.matched;
            }
        }
        cut(step, piece);
    }
    spans_.swap(next_spans_);
}

// Matches and what is between them, in order, covering the whole piece.
void Splitter::find_matches(SplitStep& step, std::string_view piece) {
    std::size_t done = 0;
    const auto add = [&](std::size_t begin, std::size_t end) {
        if (done < begin) {
            found_.push_back({done, begin, false});
        }
        found_.push_back({begin, end, true});
        done = end;
    };
    if (step.kind == SplitStep::Kind::pattern) {
        Pattern::Search search;
        while (const auto match = step.pattern.next(piece, search)) {
            add(match->begin, match->end);
        }
    } else {
        for (std::size_t at = 0; at < piece.size();) {
            const CodePoint point = first_code_point(piece.substr(at));
            if (belongs(step.kind, point.value)) {
                add(at, at + point.bytes);
            }
            at += point.bytes;
        }
    }
    if (done < piece.size()) {
        found_.push_back({done, piece.size(), false});
    }
    CHECK(found_.empty() ? piece.empty() : found_.back().end == piece.size());
}

// The five behaviours, as Hugging Face's NormalizedString::split defines them.
void Splitter::cut(const SplitStep& step, Span piece) {
    using Behavior = SplitStep::Behavior;
    const bool backwards = step.behavior == Behavior::merged_with_next;
    const std::size_t first = next_spans_.size();
    if (backwards) {
        std::reverse(found_.begin(), found_.end());
    }
    bool previous = false;
    for (const Span& span : found_) {
        const bool grows = next_spans_.size() > first &&
                           ((step.behavior == Behavior::contiguous && span.matched == previous) ||
                            ((backwards || step.behavior == Behavior::merged_with_previous) &&
                             span.matched && !previous));
        previous = span.matched;
        if (grows && backwards) {
            next_spans_.back().begin = piece.begin + span.begin;
        } else if (grows) {
            next_spans_.back().end = piece.begin + span.end;
        } else if (step.behavior != Behavior::removed || !span.matched) {
            next_spans_.push_back({piece.begin + span.begin, piece.begin + span.end, false});
        }
    }
    const auto begin = next_spans_.begin() + static_cast<std::ptrdiff_t>(first);
    if (backwards) {
        std::reverse(begin, next_spans_.end());
    }
    next_spans_.erase(
        std::remove_if(begin, next_spans_.end(), [](const Span& s) { return s.begin == s.end; }),
        next_spans_.end());
}

// Writes the text anew, piece by piece, with `write(out, piece, index)`.
template <typename Write>
void Splitter::rewrite(Write write) {
    newest_ = 1 - newest_;
    std::string& out = changed_[newest_];
    CHECK(text_.empty() || text_.data() != out.data());  // it is read while `out` is written
    out.clear();
    for (std::size_t i = 0; i < spans_.size(); ++i) {
        Span& span = spans_[i];
        const std::size_t begin = out.size();
        write(out, text_.substr(span.begin, span.end - span.begin), i);
        span = {begin, out.size(), false};
    }
    text_ = out;
}

void Splitter::change(const SplitStep& step, bool at_start) {
    if (step.kind == SplitStep::Kind::prefix_blank) {
        rewrite([](std::string& out, std::string_view piece, std::size_t) {
            if (!piece.starts_with(' ')) {
                out += ' ';
            }
            out += piece;
        });
        return;
    }
    if (step.kind == SplitStep::Kind::letters) {
        rewrite([](std::string& out, std::string_view piece, std::size_t) {
            append_letters(out, piece);
        });
        return;
    }
    rewrite([&](std::string& out, std::string_view piece, std::size_t index) {
        const bool wanted = step.prefix == SplitStep::Prefix::always ||
                            (step.prefix == SplitStep::Prefix::first && at_start && index == 0);
        if (wanted && !piece.starts_with(' ') && !piece.starts_with(step.mark)) {
            out += step.mark;
        }
        for (std::size_t at = 0; at < piece.size(); ++at) {
            out += piece[at] == ' ' ? std::string_view(step.mark) : piece.substr(at, 1);
        }
    });
}

void Splitter::run(std::string_view text, bool at_start, std::vector<std::string_view>& pieces) {
    text_ = text;
    spans_.assign(text.empty() ? 0 : 1, Span{0, text.size(), false});
    // Nobody looks at letters that are written last.
    const bool letters_last = !steps_.empty() && steps_.back().kind == SplitStep::Kind::letters;
    const std::size_t count = steps_.size() - (letters_last ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
        if (steps_[i].kind <= SplitStep::Kind::spaces) {  // the last that cuts
            cut_all(steps_[i]);
        } else {
            change(steps_[i], at_start);
        }
    }
    if (has_letters_ && !letters_last) {
        rewrite([](std::string& out, std::string_view piece, std::size_t) {
            CHECK(append_bytes_of_letters(out, piece));
        });
    }
    for (const Span& span : spans_) {
        pieces.push_back(text_.substr(span.begin, span.end - span.begin));
    }
}

// The byte of a text like "<0x0A>".
static std::optional<char> fallback_byte(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) {
        return std::nullopt;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
    if (error != std::errc() || end != text.data() + 5) {
        return std::nullopt;
    }
    return static_cast<char>(value);
}

static void join_fallback_bytes(std::vector<std::string>& texts) {
    std::vector<std::string> out;
    std::string run;
    const auto end_run = [&] {
        if (utf8_valid_prefix(run) == run.size()) {
            out.push_back(run);
        } else {
            for (std::size_t i = 0; i < run.size(); ++i) {
                out.emplace_back(replacement_utf8);
            }
        }
        run.clear();
    };
    for (std::string& text : texts) {
        if (const auto byte = fallback_byte(text)) {
            run += *byte;
            continue;
        }
        if (!run.empty()) {
            end_run();
        }
        out.push_back(std::move(text));
    }
    if (!run.empty()) {
        end_run();
    }
    texts.swap(out);
}

static void strip(std::string& text, const DecoderStep& step) {
    std::string_view rest = text;
    for (std::uint32_t i = 0; i < step.start && rest.starts_with(step.text); ++i) {
        rest.remove_prefix(step.text.size());
    }
    for (std::uint32_t i = 0; i < step.stop && rest.ends_with(step.text); ++i) {
        rest.remove_suffix(step.text.size());
    }
    text = std::string(rest);
}

// In the first text a mark is no blank but the prefix that encoding put there.
static void blanks_of_marks(std::string& text, const DecoderStep& step, bool first) {
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (!rest.starts_with(step.text)) {
            out += rest.front();
            rest.remove_prefix(1);
            continue;
        }
        if (!first || !step.drop_first) {
            out += ' ';
        }
        rest.remove_prefix(step.text.size());
    }
    text.swap(out);
}

// What is not of the alphabet stays as it is.
static std::string bytes_of_letters(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) {
        if (!append_bytes_of_letters(out, text)) {
            out += text;
        }
    }
    return out;
}

std::string Decoder::run(std::vector<std::string> texts) {
    std::string scratch;
    for (DecoderStep& step : steps_) {
        if (step.kind == DecoderStep::Kind::byte_fallback) {
            join_fallback_bytes(texts);
            continue;
        }
        if (step.kind == DecoderStep::Kind::fuse) {
            texts.assign(1, joined(texts, {}));
            continue;
        }
        if (step.kind == DecoderStep::Kind::letters) {
            texts.assign(1, bytes_of_letters(texts));
            continue;
        }
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (step.kind == DecoderStep::Kind::replace) {
                replace(texts[i], step.pattern, step.text, scratch);
            } else if (step.kind == DecoderStep::Kind::strip) {
                strip(texts[i], step);
            } else {
                blanks_of_marks(texts[i], step, i == 0);
            }
        }
    }
    return joined(texts, separator);
}

}  // namespace driftless
