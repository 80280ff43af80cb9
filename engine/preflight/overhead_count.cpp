#include "engine/preflight/overhead_count.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

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

}  // namespace

Task<bool> OverheadCount::settle(std::int64_t counted) {
    bool going = true;
    if (!context_.findings.has_usage) {
        take_uncounted();
    } else if (tokenize_.found()) {  // the word is known to be one token
        take(counted - 1);
    } else {
        going = co_await agree(counted);
    }
    if (context_.plan.overhead) {
        take_given(*context_.plan.overhead);
    }
    co_return going;
}

/// Nothing counts a prompt: what the tokenize endpoint puts around one, if it sees that.
void OverheadCount::take_uncounted() {
    PreflightFindings& found = context_.findings;
    const bool sees = tokenize_.sees_template();
    found.overhead = sees ? found.tokenize_overhead : Overhead{};
    found.overhead_source = sees ? "tokenize" : "none";
    found.split_known = sees;
    found.split_source = sees ? "tokenize" : "none";
    around_ = std::int64_t{found.overhead.pre} + found.overhead.post;
}

/// `--overhead`, and a warning where usage counts another sum.
void OverheadCount::take_given(const Overhead& overhead) {
    PreflightFindings& found = context_.findings;
    const std::int64_t given = std::int64_t{overhead.pre} + overhead.post;
    if (found.has_usage && given != around_) {
        context_.note("warning: usage counts an overhead of " + std::to_string(around_) +
                      " tokens, --overhead says " + std::to_string(given) +
                      "; no prompt will have its recorded length; remove --overhead");
    }
    found.overhead = overhead;
    found.overhead_source = "flag";
    found.split_known = true;
    found.split_source = "flag";
}

/// The split that the chat template beside the tokenizer shows, where its tokens are exactly those
/// that usage counts.
bool OverheadCount::split_by_template(std::uint32_t tokens) {
    const std::span<const TemplateSplit> splits = context_.plan.template_splits;
    if (splits.empty() || !context_.plan.dialect->templated || tokens == 0) {
        return false;
    }
    const std::optional<TemplateSplit> found = split_of(splits, tokens);
    if (!found) {
        const Overhead& first = splits.front().around;
        context_.note("the chat template next to --tokenizer (" +
                      std::string(splits.front().family) + ") puts " + std::to_string(first.pre) +
                      "+" + std::to_string(first.post) +
                      " tokens around a prompt and usage counts " + std::to_string(tokens) +
                      "; its split is not used");
        return false;
    }
    context_.findings.overhead = found->around;
    context_.findings.split_known = true;
    context_.findings.split_source = "chat_template";
    return true;
}

/// `around` tokens by usage; their split by /tokenize where it agrees, else by the chat template,
/// else by the model's name.
void OverheadCount::take(std::int64_t around) {
    PreflightFindings& found = context_.findings;
    around_ = around;
    const auto tokens = static_cast<std::uint32_t>(around);
    found.overhead_source = "usage";
    const bool sees = tokenize_.sees_template();
    if (!sees && split_by_template(tokens)) {
        return;
    }
    if (!sees) {
        found.overhead =
            split_overhead(*context_.plan.dialect, context_.model, tokens, found.split_known);
        found.split_source = found.split_known ? "model" : "none";
        return;
    }
    const Overhead reported = found.tokenize_overhead;
    const std::uint32_t post = std::min(reported.post, tokens);
    found.overhead = {tokens - post, post};
    found.split_known = reported.pre + reported.post == tokens;
    found.split_source = found.split_known ? "tokenize" : "none";
    if (found.split_known) {
        found.overhead_source = "tokenize";
    } else {
        context_.note("usage counts an overhead of " + std::to_string(around) +
                      " tokens, /tokenize one of " + std::to_string(reported.pre + reported.post) +
                      ": using that of usage");
    }
}

/// By usage alone, a word that costs two tokens looks like a longer template. So words are asked
/// once and eight times: one that grows by seven costs one token behind another, and two such words
/// that leave the same rest agree on the overhead. Of a table that is not known to hold at the
/// beginning of a prompt, all are asked before the smallest rest is believed.
Task<bool> OverheadCount::agree(std::int64_t counted) {
    std::vector<Single> singles;
    std::int64_t many = 0;
    const bool built_in = context_.plan.words == &WordTable::built_in();
    const std::uint32_t words = std::min(words_compared, context_.plan.words->openers());
    const std::uint32_t first = prompts_.opener();
    std::optional<Single> agreed;
    for (std::uint32_t word = 0; word < words && !(built_in && agreed); ++word) {
        prompts_.open_with(first + word);
        std::int64_t single = counted;
        bool going = true;
        if (word > 0) {
            going = co_await sender_.count(prompts_.one_word(), single);
        }
        if (going) {
            const std::vector<std::uint32_t> same(copies - 1, prompts_.opener());
            going = co_await sender_.count(prompts_.prompt_of(same), many);
        }
        if (!going) {
            co_return false;
        }
        if (single >= 1 && many - single == copies - 1) {
            singles.push_back({single, prompts_.opener()});
        }
        agreed = smallest_shared(singles);
    }
    if (agreed) {
        prompts_.open_with(built_in ? prompts_.opener() : agreed->word);
        take(agreed->tokens - 1);
        co_return true;
    }
    prompts_.open_with(first);
    const bool going = co_await reject_words(counted, many);
    co_return going;
}

/// No two words agree on the overhead: is it the words, or does the server waver?
Task<bool> OverheadCount::reject_words(std::int64_t counted, std::int64_t many) {
    PreflightFindings& found = context_.findings;
    found.words = WordVerdict::too_few;
    for (int again = 0; again < 2; ++again) {
        std::int64_t single = 0;
        const bool going = co_await sender_.count(prompts_.one_word(), single);
        if (!going) {
            co_return false;
        }
        found.words = single == counted ? found.words : WordVerdict::varies;
    }
    found.words_asked = copies;
    found.words_counted = many - counted + 1;
    co_return true;
}

void OverheadCount::assume_bos() {
    PreflightFindings& found = context_.findings;
    if (!found.split_known && around_ == 1 && !context_.plan.dialect->templated) {
        found.split_known = true;
        found.split_source = "bos";
    }
}

}  // namespace driftless
