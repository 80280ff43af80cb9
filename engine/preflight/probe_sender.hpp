/// ProbeSender: sends one prompt as the rows will be sent, in the form of body that was found to be
/// accepted, and reads the answer whole. It does not judge what the answer means. Owned by the
/// preflight.
#pragma once

#include <cstdint>
#include <string>

#include "engine/preflight/probe.hpp"
#include "engine/preflight/retrying_asker.hpp"

namespace driftless {

/// How far answers are read.
enum class ReadTo : std::uint8_t {
    end,     ///< as the rows', to their end
    enough,  ///< always streamed, and stopped where they are too long
};

class ProbeSender {
  public:
    ProbeSender(PreflightContext& context, RetryingAsker& retrying);

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// One request with this prompt, for so many tokens; 0: as few as the server takes.
    Task<Probe> send(const std::string& prompt, std::uint32_t tokens = 0);
    /// Tokens of a prompt of many words, by usage. False: the preflight has failed.
    Task<bool> count(const std::string& prompt, std::int64_t& tokens);
    /// Several servers tell cached tokens only where there are some: a prompt that was counted
    /// before goes out again. Whether it is answered is not held against the server.
    Task<void> send_again();

    /// Tokens that a probe asks for, where its answer matters to nobody.
    std::uint32_t least_tokens() const { return least_tokens_; }
    void set_least_tokens(std::uint32_t tokens) { least_tokens_ = tokens; }
    /// Of the next answers; at first `end`.
    void set_reading(ReadTo reading) { reading_ = reading; }

    /// The preflight fails, because of this answer to `what`; false.
    bool fail_answer(const std::string& what, const Probe& probe);

  private:
    void note_reported(const Probe& probe);

    PreflightContext& context_;
    RetryingAsker& retrying_;
    std::uint32_t least_tokens_ = 1;
    ReadTo reading_ = ReadTo::end;
    LengthWatch watch_;
    std::string last_counted_;  ///< the latest prompt of many words, as sent
};

}  // namespace driftless
