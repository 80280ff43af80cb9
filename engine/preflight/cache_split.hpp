/// CacheSplit: the overhead's split and the size of the server's cache blocks, by the cached tokens
/// of prompts that share their first words. Here the questions of SplitSearch are asked. Owned by
/// the preflight.
#pragma once

#include <cstdint>
#include <string>

#include "engine/preflight/overhead_count.hpp"
#include "engine/preflight/split_search.hpp"

namespace driftless {

class CacheSplit {
  public:
    CacheSplit(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
               const OverheadCount& overhead)
        : context_(context), sender_(sender), prompts_(prompts), overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asked only where neither the server's tokenize endpoint nor its model's name tells the
    /// split.
    Task<void> find_split();
    /// The same questions tell the size of the server's blocks, where the split is known from
    /// elsewhere and no page tells the size.
    Task<void> find_block();

  private:
    Task<bool> search_cache(std::uint32_t words, SplitSearch& search);
    Task<bool> ask_cache(std::uint32_t words, SplitSearch& search, bool repeats_first);
    std::uint32_t words_to_share() const;
    std::string shared_prompt(std::uint32_t shared, std::uint32_t words);
    void take_block(const SplitSearch& search);

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    const OverheadCount& overhead_;
    std::uint32_t prompts_made_ = 0;  ///< each has other words behind the shared ones
};

}  // namespace driftless
