#include "engine/preflight/cache_split.hpp"

#include <algorithm>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {

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
