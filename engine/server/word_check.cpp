#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/server/preflight.hpp"
#include "engine/server/word_search.hpp"

namespace driftless {

namespace {

/// Questions of fewer words than this tell too little.
constexpr std::uint32_t words_at_once_min = 16;

WordVerdict verdict_of(const WordSearch& search) {
    switch (search.verdict()) {
        case WordSearch::Verdict::searching:
            break;
        case WordSearch::Verdict::exact:
            return WordVerdict::exact;
        case WordSearch::Verdict::reduced:
            return WordVerdict::reduced;
        case WordSearch::Verdict::too_few:
            return WordVerdict::too_few;
        case WordSearch::Verdict::joins:
            return WordVerdict::joins;
        case WordSearch::Verdict::varies:
            return WordVerdict::varies;
    }
    return WordVerdict::not_asked;
}

}  // namespace

Task<bool> WordCheck::check() {
    if (context_.findings.words != WordVerdict::not_asked ||
        (!context_.findings.has_usage && !tokenize_.found())) {
        co_return true;
    }
    WordSearchLimits limits;
    limits.words_min = WordTable::words_min;
    limits.group_words_max = words_at_once();
    if (limits.group_words_max < words_at_once_min) {
        context_.note("the model's context is too short to probe the words");
        co_return true;
    }
    search_.emplace(context_.plan.words->size(), limits);
    while (!search_->question().empty()) {
        std::int64_t tokens = 0;
        const bool whole = search_->is_whole();
        const bool going = co_await count(search_->question(), whole, tokens);
        if (!going) {
            co_return false;
        }
        search_->take(tokens);
    }
    take_result();
    co_return true;
}

/// Words of one question: what the context surely holds, if every word should cost two tokens.
std::uint32_t WordCheck::words_at_once() const {
    const std::uint32_t all = context_.plan.words->size();
    if (context_.findings.max_model_len < 0) {
        return all;
    }
    const std::int64_t room = (context_.findings.max_model_len - overhead_.around() - 2) / 2;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 0, all));
}

/// Whole orders go the way of the rows, halves of bad groups to /tokenize while it agrees.
Task<bool> WordCheck::count(std::span<const std::uint32_t> words, bool whole,
                            std::int64_t& tokens) {
    const std::string prompt = prompts_.prompt_of(words);
    const bool by_usage = context_.findings.has_usage && (whole || !tokenize_.believed());
    if (by_usage) {
        const bool going = co_await sender_.count(prompt, tokens);
        if (!going) {
            co_return false;
        }
        tokens -= overhead_.around() + 1;
    }
    if (!tokenize_.believed()) {
        co_return true;
    }
    const std::vector<std::int64_t> ids = co_await tokenize_.ids_of(prompt);
    if (ids.empty()) {
        const bool going = co_await go_without_tokenize(by_usage, prompt, tokens);
        co_return going;
    }
    if (whole) {
        tokenize_.compare_ids(words, ids);
    }
    const std::int64_t reported = tokenize_.tokens_within(ids) - 1;
    if (!by_usage) {
        tokens = reported;
    } else if (reported != tokens) {
        tokenize_.doubt();
        context_.note("/tokenize counts " + std::to_string(reported) + " tokens for " +
                      std::to_string(words.size()) + " words, usage " + std::to_string(tokens) +
                      ": using that of usage");
    }
    co_return true;
}

/// The endpoint has stopped reporting tokens: usage counts alone, where there is some.
Task<bool> WordCheck::go_without_tokenize(bool counted, const std::string& prompt,
                                          std::int64_t& tokens) {
    const std::string stopped =
        "/tokenize stopped reporting tokens (" + context_.asker.status_or_why() + "): ";
    if (!context_.findings.has_usage) {
        co_return context_.fail(
            stopped + "nothing else can count the words; --no-preflight skips this check");
    }
    tokenize_.doubt();
    context_.note(stopped + "using only usage");
    bool going = true;
    if (!counted) {
        going = co_await sender_.count(prompt, tokens);
        tokens -= overhead_.around() + 1;
    }
    co_return going;
}

void WordCheck::take_result() {
    PreflightFindings& found = context_.findings;
    found.words = verdict_of(*search_);
    found.words_asked = search_->first_words();
    found.words_counted = search_->first_tokens();
    found.word_questions = search_->questions();
    found.joins = search_->joins();
    found.dropped = search_->dropped();
    for (const std::uint32_t word : found.dropped) {
        found.dropped_words.emplace_back(context_.plan.words->word(word));
    }
}

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
