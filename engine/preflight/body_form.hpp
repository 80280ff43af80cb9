/// BodyForm: the first form of a row's body that the server accepts: without what it refuses
/// (RefusedParts), for more than one token where it answers none for one, and with the name of the
/// length that it obeys. Later probes and the rows go in that form. Owned by the preflight.
#pragma once

#include <string>

#include "engine/preflight/probe_sender.hpp"
#include "engine/preflight/refused_parts.hpp"

namespace driftless {

class BodyForm {
  public:
    BodyForm(PreflightContext& context, ProbeSender& sender)
        : context_(context), sender_(sender), refused_(context, sender) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Sends a prompt in one form after the other: its answer in the first that is accepted, or
    /// the refusal.
    Task<Probe> find(const std::string& prompt);
    /// An answer of so many tokens (0: as few as the server takes). Where it is too long and the
    /// name of the length is open, it is asked for with the other name, which is kept where the
    /// server obeys it.
    Task<Probe> ask_for(const std::string& prompt, std::uint32_t tokens);

  private:
    bool is_length_open() const;
    ReadTo reading() const;
    Task<void> ask_for_more(const std::string& prompt, Probe& one);
    Task<void> try_other_length(const std::string& prompt, std::uint32_t tokens, Probe& one);

    PreflightContext& context_;
    ProbeSender& sender_;
    RefusedParts refused_;
};

}  // namespace driftless
