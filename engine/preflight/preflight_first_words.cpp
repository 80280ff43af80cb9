/// The part of the preflight that asks which words may open a prompt.
#include <algorithm>

#include "engine/preflight/preflight.hpp"

namespace driftless {

/// A table is proven where every word of the built-in list is one token behind another word: its
/// openers were then one token in front, too, in all vocabularies that were measured. A table from
/// a tokenizer is proven where the server makes the very ids of it.
bool Preflight::first_words_proven() const {
    const bool built_in = plan_.words == &WordTable::built_in();
    return (built_in && findings_.words == WordVerdict::exact) || ids_agree_;
}

/// Compares the ids of a prompt of these words with those of the tokenizer that they come from.
void Preflight::note_ids(std::span<const std::uint32_t> words, std::span<const std::int64_t> ids) {
    const std::size_t begin = findings_.tokenize_overhead.pre + std::size_t{1};
    if (plan_.word_ids.size() != plan_.words->size() || ids.size() < begin + words.size()) {
        ids_agree_ = false;
        ids_differ_ = true;
        return;
    }
    bool equal = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        equal = equal && ids[begin + i] == std::int64_t{plan_.word_ids[words[i]]};
    }
    ids_differ_ = ids_differ_ || !equal;
    ids_agree_ = !ids_differ_;
}

/// Tokens of one word as a whole prompt: by /tokenize where it sees what rows will have in front of
/// it, else by usage.
Task<bool> Preflight::count_first(std::uint32_t word, std::int64_t& tokens) {
    const std::string prompt(plan_.words->word(word));
    const bool sees = tokenize_believed_ && sees_template(*findings_.tokenize, *plan_.dialect);
    if (sees || !findings_.has_usage) {
        const std::vector<std::int64_t> ids =
            co_await asker_.tokenize(*findings_.tokenize, model(), prompt);
        const Overhead own = findings_.tokenize_overhead;
        tokens = static_cast<std::int64_t>(ids.size()) - own.pre - own.post;
        if (!ids.empty() || !findings_.has_usage) {
            co_return true;
        }
    }
    const bool going = co_await count_by_usage(prompt, tokens);
    tokens -= around_;
    co_return going;
}

/// Words that are one token each at the beginning of a prompt are searched for, where that is not
/// known of the table.
Task<bool> Preflight::probe_first_words() {
    const bool usable =
        findings_.words == WordVerdict::exact || findings_.words == WordVerdict::reduced;
    if (!usable || plan_.body.prompt != PromptKind::text || first_words_proven()) {
        co_return true;
    }
    std::vector<std::uint32_t> kept;
    for (std::uint32_t word = 0; word < plan_.words->size(); ++word) {
        if (!std::binary_search(findings_.dropped.begin(), findings_.dropped.end(), word)) {
            kept.push_back(word);
        }
    }
    FirstWords first(std::move(kept));
    while (const std::optional<std::uint32_t> word = first.question()) {
        std::int64_t tokens = 0;
        const bool going = co_await count_first(*word, tokens);
        if (!going) {
            co_return false;
        }
        first.take(tokens);
    }
    findings_.first_words = first.safe();
    findings_.first_words_asked = first.asked();
    if (first.safe().size() < FirstWords::safe_min) {
        findings_.words = WordVerdict::no_first;
    }
    co_return true;
}

}  // namespace driftless
