/// The part of the preflight that counts: the tokens around a prompt, and all words.
#include <algorithm>

#include "engine/preflight/preflight.hpp"
#include "engine/preflight/template_table.hpp"

namespace driftless {

namespace {

/// Words whose counts are compared where only usage tells the overhead.
constexpr std::uint32_t words_compared = 8;
/// Copies of one word that tell its cost: seven more than the word alone.
constexpr std::uint32_t copies = 8;
/// What was counted for a prompt of this word alone.
struct Single {
    std::int64_t tokens = 0;
    std::uint32_t word = 0;
};

/// The first of the words whose count two words share; of several counts the smallest: a word that
/// costs two tokens at the beginning makes the template look longer, and never shorter.
std::optional<Single> smallest_shared(std::span<const Single> singles) {
    std::optional<Single> found;
    for (std::size_t i = 0; i < singles.size(); ++i) {
        const auto same = [&](const Single& one) { return one.tokens == singles[i].tokens; };
        const bool shared = std::count_if(singles.begin(), singles.end(), same) > 1;
        if (shared && (!found || singles[i].tokens < found->tokens)) {
            found = singles[i];
        }
    }
    return found;
}

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

/// The opening word, then these.
std::string Preflight::prompt_of(std::span<const std::uint32_t> words) const {
    std::string prompt(plan_.words->word(opener_));
    for (const std::uint32_t word : words) {
        prompt += plan_.words->separator();
        prompt += plan_.words->word(word);
    }
    return prompt;
}

Task<bool> Preflight::count_by_usage(const std::string& prompt, std::int64_t& tokens) {
    const Probe counted = co_await probe(prompt);
    if (!counted.ok) {
        co_return fail_answer("probe of many words", counted);
    }
    tokens = counted.prompt_tokens;
    last_prompt_ = prompt;
    co_return true;
}

/// The overhead, from what one word was counted as. Usage is what rows are held against, so it
/// goes before what /tokenize says; `--overhead` goes before both.
Task<bool> Preflight::settle_overhead(std::int64_t counted) {
    const bool by_tokenize =
        findings_.tokenize && sees_template(*findings_.tokenize, *plan_.dialect);
    bool going = true;
    if (!findings_.has_usage) {
        findings_.overhead = by_tokenize ? findings_.tokenize_overhead : Overhead{};
        findings_.overhead_source = by_tokenize ? "tokenize" : "none";
        findings_.split_known = by_tokenize;
        findings_.split_source = by_tokenize ? "tokenize" : "none";
        around_ = std::int64_t{findings_.overhead.pre} + findings_.overhead.post;
    } else if (findings_.tokenize) {  // the word is known to be one token
        take_overhead(counted - 1);
    } else {
        going = co_await agree_on_overhead(counted);
    }
    if (plan_.overhead) {
        const std::int64_t given = std::int64_t{plan_.overhead->pre} + plan_.overhead->post;
        if (findings_.has_usage && given != around_) {
            findings_.notes.push_back(
                "warning: usage counts an overhead of " + std::to_string(around_) +
                " tokens and --overhead says " + std::to_string(given) +
                ": no prompt will have its recorded length; remove --overhead");
        }
        findings_.overhead = *plan_.overhead;
        findings_.overhead_source = "flag";
        findings_.split_known = true;
        findings_.split_source = "flag";
    }
    co_return going;
}

/// The split that the chat template beside the tokenizer shows, where its tokens are exactly those
/// that usage counts.
bool Preflight::split_by_template(std::uint32_t tokens) {
    const std::span<const TemplateSplit> splits = plan_.template_splits;
    if (splits.empty() || !plan_.dialect->templated || tokens == 0) {
        return false;
    }
    const std::optional<TemplateSplit> found = split_of(splits, tokens);
    if (!found) {
        const Overhead& first = splits.front().around;
        findings_.notes.push_back("the chat template beside --tokenizer (" +
                                  std::string(splits.front().family) + ") puts " +
                                  std::to_string(first.pre) + "+" + std::to_string(first.post) +
                                  " tokens around a prompt and usage counts " +
                                  std::to_string(tokens) + ": its split is not used");
        return false;
    }
    findings_.overhead = found->around;
    findings_.split_known = true;
    findings_.split_source = "chat_template";
    return true;
}

/// `around` tokens by usage; their split by /tokenize where it agrees, else by the chat template,
/// else by the model's name.
void Preflight::take_overhead(std::int64_t around) {
    around_ = around;
    const auto tokens = static_cast<std::uint32_t>(around);
    findings_.overhead_source = "usage";
    const bool sees = findings_.tokenize && sees_template(*findings_.tokenize, *plan_.dialect);
    if (!sees && split_by_template(tokens)) {
        return;
    }
    if (!sees) {
        findings_.overhead = split_overhead(*plan_.dialect, model(), tokens, findings_.split_known);
        findings_.split_source = findings_.split_known ? "model" : "none";
        return;
    }
    const Overhead reported = findings_.tokenize_overhead;
    const std::uint32_t post = std::min(reported.post, tokens);
    findings_.overhead = {tokens - post, post};
    findings_.split_known = reported.pre + reported.post == tokens;
    findings_.split_source = findings_.split_known ? "tokenize" : "none";
    if (findings_.split_known) {
        findings_.overhead_source = "tokenize";
    } else {
        findings_.notes.push_back(
            "usage counts an overhead of " + std::to_string(around) + " tokens, /tokenize one of " +
            std::to_string(reported.pre + reported.post) + ": the count of usage is taken");
    }
}

/// By usage alone, a word that costs two tokens looks like a longer template. So words are asked
/// once and eight times: one that grows by seven costs one token behind another, and two such words
/// that leave the same rest agree on the overhead. Of a table that is not known to hold at the
/// beginning of a prompt, all are asked before the smallest rest is believed.
Task<bool> Preflight::agree_on_overhead(std::int64_t counted) {
    std::vector<Single> singles;
    std::int64_t many = 0;
    const bool built_in = plan_.words == &WordTable::built_in();
    const std::uint32_t words = std::min(words_compared, plan_.words->openers());
    const std::uint32_t first = opener_;
    std::optional<Single> agreed;
    for (std::uint32_t word = 0; word < words && !(built_in && agreed); ++word) {
        opener_ = first + word;
        std::int64_t single = counted;
        bool going = true;
        if (word > 0) {
            going = co_await count_by_usage(prompt_of({}), single);
        }
        if (going) {
            const std::vector<std::uint32_t> same(copies - 1, opener_);
            going = co_await count_by_usage(prompt_of(same), many);
        }
        if (!going) {
            co_return false;
        }
        if (single >= 1 && many - single == copies - 1) {
            singles.push_back({single, opener_});
        }
        agreed = smallest_shared(singles);
    }
    if (agreed) {
        opener_ = built_in ? opener_ : agreed->word;
        take_overhead(agreed->tokens - 1);
        co_return true;
    }
    opener_ = first;
    findings_.words = WordVerdict::too_few;
    for (int again = 0; again < 2; ++again) {  // is it the words, or does the server waver?
        std::int64_t single = 0;
        const bool going = co_await count_by_usage(prompt_of({}), single);
        if (!going) {
            co_return false;
        }
        findings_.words = single == counted ? findings_.words : WordVerdict::varies;
    }
    findings_.words_asked = copies;
    findings_.words_counted = many - counted + 1;
    co_return true;
}

/// Words of one question: what the context surely holds, if every word should cost two tokens.
std::uint32_t Preflight::words_at_once() const {
    const std::uint32_t all = plan_.words->size();
    if (findings_.max_model_len < 0) {
        return all;
    }
    const std::int64_t room = (findings_.max_model_len - around_ - 2) / 2;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 0, all));
}

/// Every word must count as one token; those that do not are searched for.
Task<bool> Preflight::probe_words() {
    if (findings_.words != WordVerdict::not_asked ||
        (!findings_.has_usage && !findings_.tokenize)) {
        co_return true;
    }
    WordSearchLimits limits;
    limits.words_min = WordTable::words_min;
    limits.group_words_max = words_at_once();
    if (limits.group_words_max < words_at_once_min) {
        findings_.notes.push_back("the model's context is too short to probe the words");
        co_return true;
    }
    search_.emplace(plan_.words->size(), limits);
    while (!search_->question().empty()) {
        std::int64_t tokens = 0;
        const bool whole = search_->is_whole();
        const bool going = co_await count_words(search_->question(), whole, tokens);
        if (!going) {
            co_return false;
        }
        search_->take(tokens);
    }
    note_words();
    co_return true;
}

/// Whole orders go the way of the rows, halves of bad groups to /tokenize while it agrees.
Task<bool> Preflight::count_words(std::span<const std::uint32_t> words, bool whole,
                                  std::int64_t& tokens) {
    const std::string prompt = prompt_of(words);
    const bool by_usage = findings_.has_usage && (whole || !tokenize_believed_);
    if (by_usage) {
        const bool going = co_await count_by_usage(prompt, tokens);
        if (!going) {
            co_return false;
        }
        tokens -= around_ + 1;
    }
    if (!tokenize_believed_) {
        co_return true;
    }
    const std::vector<std::int64_t> ids =
        co_await asker_.tokenize(*findings_.tokenize, model(), prompt);
    if (ids.empty()) {
        const bool going = co_await go_without_tokenize(by_usage, prompt, tokens);
        co_return going;
    }
    if (whole) {
        note_ids(words, ids);
    }
    const Overhead own = findings_.tokenize_overhead;
    const std::int64_t reported = static_cast<std::int64_t>(ids.size()) - own.pre - own.post - 1;
    if (!by_usage) {
        tokens = reported;
    } else if (reported != tokens) {
        tokenize_believed_ = false;
        findings_.notes.push_back("/tokenize counts " + std::to_string(reported) + " tokens for " +
                                  std::to_string(words.size()) + " words, usage " +
                                  std::to_string(tokens) + ": the count of usage is taken");
    }
    co_return true;
}

/// The endpoint has stopped reporting tokens: usage counts alone, where there is some.
Task<bool> Preflight::go_without_tokenize(bool counted, const std::string& prompt,
                                          std::int64_t& tokens) {
    const std::string stopped =
        "/tokenize stopped reporting tokens (" + asker_.status_or_why() + "): ";
    if (!findings_.has_usage) {
        co_return fail(stopped + "nothing else counts the words; --no-preflight skips this check");
    }
    tokenize_believed_ = false;
    findings_.notes.push_back(stopped + "usage alone counts");
    bool going = true;
    if (!counted) {
        going = co_await count_by_usage(prompt, tokens);
        tokens -= around_ + 1;
    }
    co_return going;
}

void Preflight::note_words() {
    findings_.words = verdict_of(*search_);
    findings_.words_asked = search_->first_words();
    findings_.words_counted = search_->first_tokens();
    findings_.word_questions = search_->questions();
    findings_.joins = search_->joins();
    findings_.dropped = search_->dropped();
    for (const std::uint32_t word : findings_.dropped) {
        findings_.dropped_words.emplace_back(plan_.words->word(word));
    }
}

}  // namespace driftless
