#include "engine/prompt/tokenizer/normalizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/prompt/tokenizer/text.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t capital_i_with_dot = 0x130;
constexpr std::uint32_t combining_dot_above = 0x307;

int form_of(NormalizerStep::Kind kind) {
    switch (kind) {
        case NormalizerStep::Kind::nfc:
            return UTF8PROC_STABLE | UTF8PROC_COMPOSE;
        case NormalizerStep::Kind::nfd:
            return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
        case NormalizerStep::Kind::nfkc:
            return UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
        default:
            return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
    }
}

void to_form(std::string& text, NormalizerStep::Kind kind) {
    if (is_ascii(text)) {
        return;  // every form of ASCII is itself
    }
    utf8proc_uint8_t* result = nullptr;
    const utf8proc_ssize_t bytes =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &result,
                     static_cast<utf8proc_option_t>(form_of(kind)));
    CHECK(bytes >= 0);  // fails on invalid UTF-8 and without memory only
    text.assign(reinterpret_cast<const char*>(result), static_cast<std::size_t>(bytes));
    std::free(result);
}

template <typename EachCodePoint>
void rewrite(std::string& text, std::string& scratch, EachCodePoint each) {
    scratch.clear();
    for (std::string_view left = text; !left.empty();) {
        const CodePoint point = first_code_point(left);
        each(scratch, point, left.substr(0, point.bytes));
        left.remove_prefix(point.bytes);
    }
    text.swap(scratch);
}

void to_lower(std::string& text, std::string& scratch) {
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

void drop_marks(std::string& text, std::string& scratch) {
    rewrite(text, scratch, [](std::string& out, CodePoint point, std::string_view bytes) {
        if (!is_mark(point.value)) {
            out += bytes;
        }
    });
}

void strip(std::string& text, bool left, bool right) {
    std::string_view rest = text;
    while (left && !rest.empty() && is_white_space(first_code_point(rest).value)) {
        rest.remove_prefix(first_code_point(rest).bytes);
    }
    while (right && !rest.empty() && is_white_space(last_code_point(rest).value)) {
        rest.remove_suffix(last_code_point(rest).bytes);
    }
    text = std::string(rest);
}

void replace(std::string& text, std::string& scratch, NormalizerStep& step) {
    std::size_t done = 0;
    scratch.clear();
    Pattern::Search search;
    while (const auto match = step.pattern.next(text, search)) {
        scratch.append(text, done, match->begin - done);
        scratch += step.text;
        done = match->end;
    }
    scratch.append(text, done);
    text.swap(scratch);
}

}  // namespace

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
                replace(text, scratch_, step);
                break;
            case NormalizerStep::Kind::letters:
                scratch_.clear();
                append_letters(scratch_, text);
                text.swap(scratch_);
                break;
        }
    }
}

}  // namespace driftless
