#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <utility>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

}  // namespace

// An expression that backtracks more than this on a piece of text is none of a tokenizer's.
static constexpr std::size_t jit_stack_bytes_min = std::size_t{32} << 10;
static constexpr std::size_t jit_stack_bytes_max = std::size_t{4} << 20;

// Oniguruma's ^ and $ always mean lines.
static constexpr std::uint32_t options =
    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;

static std::string message_of(int error) {
    char text[256] = {};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
    return text;
}

struct Pattern::Compiled {
    Owned<pcre2_code> code;
    Owned<pcre2_match_data> data;
    Owned<pcre2_match_context> context;
    Owned<pcre2_jit_stack> stack;
    bool jit = false;

    int match(std::string_view text, std::size_t from);
};

// A search that runs out of the compiled code's stack is made again by the interpreter.
int Pattern::Compiled::match(std::string_view text, std::size_t from) {
    const auto* bytes = reinterpret_cast<PCRE2_SPTR>(text.data());
    if (jit) {
        const int found =
            pcre2_jit_match(code.get(), bytes, text.size(), from, 0, data.get(), context.get());
        if (found > 0 || found == PCRE2_ERROR_NOMATCH) {
            return found;
        }
    }
    return pcre2_match(code.get(), bytes, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       data.get(), context.get());
}

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::literal(std::string_view text) {
    Pattern pattern;
    pattern.literal_ = text;
    return pattern;
}

Result<Pattern> Pattern::compile(std::string_view expression, std::string& why) {
    const Result<std::string> rewritten = pcre2_of_oniguruma(expression, why);
    if (!rewritten) {
        return rewritten.error();
    }
    const std::string& text = rewritten.value();
    auto compiled = std::make_unique<Compiled>();
    int error = 0;
    PCRE2_SIZE offset = 0;
    compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                       options, &error, &offset, nullptr));
    if (compiled->code == nullptr) {
        why = "the regular expression '" + std::string(expression) +
              "' cannot be run: " + message_of(error) + " (at byte " + std::to_string(offset) +
              " of '" + text + "')";
        return Error{ErrorCode::unsupported, 0, "compile a regular expression"};
    }
    compiled->jit = pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE) == 0;
    compiled->data.reset(pcre2_match_data_create_from_pattern(compiled->code.get(), nullptr));
    compiled->context.reset(pcre2_match_context_create(nullptr));
    compiled->stack.reset(
        pcre2_jit_stack_create(jit_stack_bytes_min, jit_stack_bytes_max, nullptr));
    CHECK(compiled->data != nullptr && compiled->context != nullptr);
    pcre2_jit_stack_assign(compiled->context.get(), nullptr, compiled->stack.get());
    Pattern pattern;
    pattern.compiled_ = std::move(compiled);
    return pattern;
}

std::optional<Pattern::Match> Pattern::next(std::string_view text, Search& search) {
    if (compiled_ == nullptr) {
        const std::size_t at = literal_.empty() ? text.npos : text.find(literal_, search.from);
        if (at == text.npos) {
            return std::nullopt;
        }
        search.from = at + literal_.size();
        return Match{at, search.from};
    }
    while (search.from <= text.size() && compiled_->match(text, search.from) > 0) {
        const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(compiled_->data.get());
        const Match match{bounds[0], bounds[1]};
        if (match.begin == match.end && match.end == search.last_end) {
            // One code point on, or beyond the end.
            search.from += search.from < text.size()
                               ? first_code_point(text.substr(search.from)).bytes
                               : std::size_t{1};
            continue;
        }
        search.from = match.end;
        search.last_end = match.end;
        return match;
    }
    return std::nullopt;
}

}  // namespace driftless
