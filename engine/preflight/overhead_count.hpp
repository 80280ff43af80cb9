/// OverheadCount: how many tokens stand around a prompt, by what one word was counted as, and how
/// many of them stand in front of it: by the tokenize endpoint, the chat template or the model's
/// name. What cached tokens tell of the split is CacheSplit's. Owned by the preflight.
#pragma once

#include <cstdint>

#include "engine/preflight/probe_sender.hpp"
#include "engine/preflight/tokenize_endpoint.hpp"

namespace driftless {

class OverheadCount {
  public:
    OverheadCount(PreflightContext& context, ProbeSender& sender, ProbePrompts& prompts,
                  const TokenizeEndpoint& tokenize)
        : context_(context), sender_(sender), prompts_(prompts), tokenize_(tokenize) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// The overhead, from what one word was counted as. Usage is what rows are held against, so it
    /// goes before what /tokenize says; `--overhead` goes before both. False: the preflight has
    /// failed.
    Task<bool> settle(std::int64_t counted);
    /// Tokens around a prompt, as usage counts them; without usage, as the tokenize endpoint does.
    std::int64_t around() const { return around_; }

    /// One token, no template, and nothing that shows where it stands: a BOS. The tokenizers of all
    /// families of models that add one token to a text put it in front (token-exact.md, section 5);
    /// an EOS behind it takes `add_eos_token`, which none of them has set.
    void assume_bos();

  private:
    void take_uncounted();
    void take(std::int64_t around);
    void take_given(const Overhead& overhead);
    bool split_by_template(std::uint32_t tokens);
    Task<bool> agree(std::int64_t counted);
    Task<bool> reject_words(std::int64_t counted, std::int64_t many);

    PreflightContext& context_;
    ProbeSender& sender_;
    ProbePrompts& prompts_;
    const TokenizeEndpoint& tokenize_;
    std::int64_t around_ = 0;
};

}  // namespace driftless
