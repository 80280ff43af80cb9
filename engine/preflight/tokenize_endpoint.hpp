/// TokenizeEndpoint: the server's tokenize endpoint: which way of asking it understands, what it
/// puts around a text, and whether it is still believed. Usage is the truth: whoever sees the two
/// disagree says `doubt`. Owned by the preflight.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/preflight/preflight_context.hpp"
#include "engine/preflight/probe_prompts.hpp"
#include "engine/task/task.hpp"

namespace driftless {

class TokenizeEndpoint {
  public:
    TokenizeEndpoint(PreflightContext& context, ProbePrompts& prompts)
        : context_(context), prompts_(prompts) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Tries each way of tokenising that servers have until one is understood; prompts then open
    /// with a word that it makes one token of. A page that is missing is not asked again.
    Task<void> find();
    /// Some way was understood.
    bool found() const { return context_.findings.tokenize.has_value(); }
    /// It was found, and sees what the API puts around a prompt, too.
    bool sees_template() const;

    /// It was found, and has agreed with usage so far.
    bool believed() const { return believed_; }
    void doubt() { believed_ = false; }

    /// The ids that it makes of a prompt; empty where it does not say. Only where it was found.
    Task<std::vector<std::int64_t>> ids_of(const std::string& prompt);
    /// So many ids without those that it puts around a text.
    std::int64_t tokens_within(const std::vector<std::int64_t>& ids) const;

    /// Compares the ids of a prompt of these words with those of the tokenizer that they come from.
    void compare_ids(std::span<const std::uint32_t> words, std::span<const std::int64_t> ids);
    /// Ids were compared, and all were those of the table's own tokenizer.
    bool ids_agree() const { return ids_agree_; }

  private:
    Task<bool> try_form(TokenizeForm form);

    PreflightContext& context_;
    ProbePrompts& prompts_;
    bool believed_ = false;
    bool ids_agree_ = false;
    bool ids_differ_ = false;  ///< once, or they could not be compared
};

}  // namespace driftless
