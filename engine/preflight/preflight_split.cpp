/// The part of the preflight that finds the overhead's split by cached tokens.
#include <algorithm>

#include "engine/preflight/preflight.hpp"
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
std::string Preflight::shared_prompt(std::uint32_t shared, std::uint32_t words) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t word = 0; word < plan_.words->size(); ++word) {
        if (!std::binary_search(findings_.dropped.begin(), findings_.dropped.end(), word)) {
            kept.push_back(word);
        }
    }
    const std::uint64_t seed = seed_of(plan_.server.run_id);
    Random same(seed);
    Random own(seed + ++probe_seed_);
    std::vector<std::uint32_t> drawn;
    for (std::uint32_t i = 0; i + 1 < words; ++i) {
        const std::uint64_t common = same.below(kept.size());
        // The opening word is the first of them.
        const std::uint64_t index = i + 1 < shared    ? common
                                    : i + 1 == shared ? (common + probe_seed_) % kept.size()
                                                      : own.below(kept.size());
        drawn.push_back(kept[index]);
    }
    return prompt_of(drawn);
}

/// One token, no template, and nothing that shows where it stands: a BOS. The tokenizers of all
/// families of models that add one token to a text put it in front (token-exact.md, section 5); an
/// EOS behind it takes `add_eos_token`, which none of them has set.
void Preflight::assume_bos() {
    if (!findings_.split_known && around_ == 1 && !plan_.dialect->templated) {
        findings_.split_known = true;
        findings_.split_source = "bos";
    }
}

/// Asks for prompts that share their first words. False where it cannot be asked, or is not found.
/// Where the counts contradict each other it asks once more, and repeats the first prompt before
/// each question: a slot of llama.cpp holds its latest prompt alone.
Task<bool> Preflight::search_cache(std::uint32_t words, SplitSearch& search) {
    const SplitSearch fresh = search;
    bool found = co_await ask_cache(words, search, false);
    if (search.verdict() == SplitSearch::Verdict::varies && !asker_.stopped()) {
        search = fresh;
        found = co_await ask_cache(words, search, true);
    }
    co_return found;
}

Task<bool> Preflight::ask_cache(std::uint32_t words, SplitSearch& search, bool repeats_first) {
    const std::string longest = shared_prompt(words, words + own_words);
    const Probe first = co_await probe(longest);
    bool going = first.ok;
    while (going && search.question() && !asker_.stopped()) {
        if (repeats_first) {
            (void)co_await probe(longest);
        }
        const std::string prompt = shared_prompt(*search.question(), words + own_words);
        const Probe next = co_await probe(prompt);
        going = next.ok;
        search.take(next.cached_tokens);
    }
    const bool found = going && search.verdict() == SplitSearch::Verdict::found;
    co_return found;
}

/// Words that prompts can share and be counted in; 0: none, or too few to tell anything.
std::uint32_t Preflight::words_to_share() const {
    const bool exact =
        findings_.words == WordVerdict::exact || findings_.words == WordVerdict::reduced;
    std::uint32_t words = shared_words_max;
    if (findings_.max_model_len >= 0) {
        const std::int64_t room = findings_.max_model_len - around_ - own_words - probe_tokens_;
        words = static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 0, words));
    }
    const bool reported = findings_.has_cached_tokens && exact && !asker_.stopped();
    return reported && words >= shared_words_min ? words : 0;
}

/// Asked only where neither the server's tokenize endpoint nor its model's name tells the split.
Task<void> Preflight::find_split() {
    const std::uint32_t words = words_to_share();
    if (findings_.split_known || around_ <= 0 || words == 0) {
        co_return;
    }
    SplitSearch search(words, 0, static_cast<std::uint32_t>(around_));
    const bool found = co_await search_cache(words, search);
    if (!found) {
        co_return;
    }
    findings_.overhead = {search.pre(), static_cast<std::uint32_t>(around_) - search.pre()};
    findings_.split_known = true;
    findings_.split_source = "cached_tokens";
    findings_.server_block = search.block();
    findings_.server_block_source = "cached_tokens";
}

/// The same questions tell the size of the server's blocks, where the split is known from
/// elsewhere and no page tells the size.
Task<void> Preflight::find_block() {
    const std::uint32_t words = words_to_share();
    const bool known = findings_.server_block > 0 || plan_.server_block_known;
    if (known || !findings_.split_known || words == 0) {
        co_return;
    }
    SplitSearch search(words, findings_.overhead.pre, findings_.overhead.pre);
    const bool found = co_await search_cache(words, search);
    if (found) {
        findings_.server_block = search.block();
        findings_.server_block_source = "cached_tokens";
    }
}

}  // namespace driftless
