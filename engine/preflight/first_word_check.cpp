#include "engine/preflight/first_word_check.hpp"

#include <optional>
#include <string>
#include <vector>

#include "engine/preflight/first_words.hpp"

namespace driftless {

/// A table is proven where every word of the built-in list is one token behind another word: its
/// openers were then one token in front, too, in all vocabularies that were measured. A table from
/// a tokenizer is proven where the server makes the very ids of it.
bool FirstWordCheck::proven() const {
    const bool built_in = context_.plan.words == &WordTable::built_in();
    return (built_in && context_.findings.words == WordVerdict::exact) || tokenize_.ids_agree();
}

/// Tokens of one word as a whole prompt: by /tokenize where it sees what rows will have in front of
/// it, else by usage.
Task<bool> FirstWordCheck::count(std::uint32_t word, std::int64_t& tokens) {
    const std::string prompt(context_.plan.words->word(word));
    const bool sees = tokenize_.believed() && tokenize_.sees_template();
    if (sees || !context_.findings.has_usage) {
        const std::vector<std::int64_t> ids = co_await tokenize_.ids_of(prompt);
        tokens = tokenize_.tokens_within(ids);
        if (!ids.empty() || !context_.findings.has_usage) {
            co_return true;
        }
    }
    const bool going = co_await sender_.count(prompt, tokens);
    tokens -= overhead_.around();
    co_return going;
}

Task<bool> FirstWordCheck::check() {
    PreflightFindings& found = context_.findings;
    const bool usable = found.words == WordVerdict::exact || found.words == WordVerdict::reduced;
    if (!usable || context_.plan.body.prompt != PromptKind::text || proven()) {
        co_return true;
    }
    FirstWords first(prompts_.words_without(found.dropped));
    while (const std::optional<std::uint32_t> word = first.question()) {
        std::int64_t tokens = 0;
        const bool going = co_await count(*word, tokens);
        if (!going) {
            co_return false;
        }
        first.take(tokens);
    }
    found.first_words = first.safe();
    found.first_words_asked = first.asked();
    if (first.safe().size() < FirstWords::safe_min) {
        found.words = WordVerdict::no_first;
    }
    co_return true;
}

}  // namespace driftless
