/// WordCheck: every word of the table must count as one token behind another; those that do not are
/// searched for and dropped (WordSearch). Here the questions of that search are asked. Which words
/// may open a prompt is FirstWordCheck's. Owned by the preflight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/preflight/overhead_count.hpp"
#include "engine/preflight/word_search.hpp"

namespace driftless {

class WordCheck {
  public:
    WordCheck(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
              TokenizeEndpoint& tokenize, const OverheadCount& overhead)
        : context_(context),
          sender_(sender),
          prompts_(prompts),
          tokenize_(tokenize),
          overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks until the search is over, where anything counts. False: the preflight has failed.
    Task<bool> check();

  private:
    Task<bool> count(std::span<const std::uint32_t> words, bool whole, std::int64_t& tokens);
    Task<bool> go_without_tokenize(bool counted, const std::string& prompt, std::int64_t& tokens);
    std::uint32_t words_at_once() const;
    void take_result();

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    TokenizeEndpoint& tokenize_;
    const OverheadCount& overhead_;
    std::optional<WordSearch> search_;
};

}  // namespace driftless
