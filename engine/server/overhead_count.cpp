#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "engine/server/preflight.hpp"
#include "engine/server/tokenize.hpp"
#include "proto/core/hash.hpp"

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

namespace {

/// Words that the prompts share: more than two blocks of 512 tokens.
constexpr std::uint32_t shared_words_max = 1100;
constexpr std::uint32_t shared_words_min = 32;
/// Words behind the shared ones.
constexpr std::uint32_t own_words = 8;

std::uint64_t seed_of(const std::string& run_id) {
    Digest digest;
    digest.add(run_id);
    return digest.value();
}

}  // namespace

/// A prompt whose first `shared` of so many words are the same in each, and whose word behind them
/// is another one each time. No other run has the same.
std::string CacheSplit::shared_prompt(std::uint32_t shared, std::uint32_t words) {
    const std::vector<std::uint32_t> kept = prompts_.words_without(context_.findings.dropped);
    const std::uint64_t seed = seed_of(context_.plan.server.run_id);
    Random same(seed);
    Random own(seed + ++prompts_made_);
    std::vector<std::uint32_t> drawn;
    for (std::uint32_t i = 0; i + 1 < words; ++i) {
        const std::uint64_t common = same.below(kept.size());
        // The opening word is the first of them.
        const std::uint64_t index = i + 1 < shared    ? common
                                    : i + 1 == shared ? (common + prompts_made_) % kept.size()
                                                      : own.below(kept.size());
        drawn.push_back(kept[index]);
    }
    return prompts_.prompt_of(drawn);
}

/// Asks for prompts that share their first words. False where it cannot be asked, or is not found.
/// Where the counts contradict each other it asks once more, and repeats the first prompt before
/// each question: a slot of llama.cpp holds its latest prompt alone.
Task<bool> CacheSplit::search_cache(std::uint32_t words, SplitSearch& search) {
    const SplitSearch fresh = search;
    bool found = co_await ask_cache(words, search, false);
    if (search.verdict() == SplitSearch::Verdict::varies && !context_.asker.stopped()) {
        search = fresh;
        found = co_await ask_cache(words, search, true);
    }
    co_return found;
}

Task<bool> CacheSplit::ask_cache(std::uint32_t words, SplitSearch& search, bool repeats_first) {
    const std::string longest = shared_prompt(words, words + own_words);
    const Probe first = co_await sender_.send(longest);
    bool going = first.ok;
    while (going && search.question() && !context_.asker.stopped()) {
        if (repeats_first) {
            (void)co_await sender_.send(longest);
        }
        const std::string prompt = shared_prompt(*search.question(), words + own_words);
        const Probe next = co_await sender_.send(prompt);
        going = next.ok;
        search.take(next.cached_tokens);
    }
    const bool found = going && search.verdict() == SplitSearch::Verdict::found;
    co_return found;
}

/// Words that prompts can share and be counted in; 0: none, or too few to tell anything.
std::uint32_t CacheSplit::words_to_share() const {
    const PreflightFindings& found = context_.findings;
    const bool exact = found.words == WordVerdict::exact || found.words == WordVerdict::reduced;
    std::uint32_t words = shared_words_max;
    if (found.max_model_len >= 0) {
        const std::int64_t room =
            found.max_model_len - overhead_.around() - own_words - sender_.least_tokens();
        words = static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 0, words));
    }
    const bool reported = found.has_cached_tokens && exact && !context_.asker.stopped();
    return reported && words >= shared_words_min ? words : 0;
}

Task<void> CacheSplit::find_split() {
    const std::uint32_t words = words_to_share();
    if (context_.findings.split_known || overhead_.around() <= 0 || words == 0) {
        co_return;
    }
    SplitSearch search(words, 0, static_cast<std::uint32_t>(overhead_.around()));
    const bool found = co_await search_cache(words, search);
    if (!found) {
        co_return;
    }
    context_.findings.overhead = {search.pre(),
                                  static_cast<std::uint32_t>(overhead_.around()) - search.pre()};
    context_.findings.split_known = true;
    context_.findings.split_source = "cached_tokens";
    take_block(search);
}

Task<void> CacheSplit::find_block() {
    const std::uint32_t words = words_to_share();
    const bool known = context_.findings.server_block > 0 || context_.plan.server_block_known;
    if (known || !context_.findings.split_known || words == 0) {
        co_return;
    }
    SplitSearch search(words, context_.findings.overhead.pre, context_.findings.overhead.pre);
    const bool found = co_await search_cache(words, search);
    if (found) {
        take_block(search);
    }
}

void CacheSplit::take_block(const SplitSearch& search) {
    context_.findings.server_block = search.block();
    context_.findings.server_block_source = "cached_tokens";
}

}  // namespace driftless
