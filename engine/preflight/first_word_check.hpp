/// FirstWordCheck: which words are one token each at the beginning of a prompt, where that is not
/// known of the table. Here the questions of FirstWords are asked. Owned by the preflight.
#pragma once

#include <cstdint>

#include "engine/preflight/overhead_count.hpp"

namespace driftless {

class FirstWordCheck {
  public:
    FirstWordCheck(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
                   TokenizeEndpoint& tokenize, const OverheadCount& overhead)
        : context_(context),
          sender_(sender),
          prompts_(prompts),
          tokenize_(tokenize),
          overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks word by word until enough are known; only behind a word check that has left words to
    /// use. False: the preflight has failed.
    Task<bool> check();

  private:
    bool proven() const;
    Task<bool> count(std::uint32_t word, std::int64_t& tokens);

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    TokenizeEndpoint& tokenize_;
    const OverheadCount& overhead_;
};

}  // namespace driftless
