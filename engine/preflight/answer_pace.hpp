/// AnswerPace: how long an answer of some tokens is, and whether its chunks come one by one, as
/// they are made. Notes what will become of rows where not. Owned by the preflight.
#pragma once

#include "engine/preflight/body_form.hpp"
#include "engine/preflight/probe_prompts.hpp"

namespace driftless {

class AnswerPace {
  public:
    AnswerPace(PreflightContext& context, BodyForm& body, const ProbePrompts& prompts)
        : context_(context), body_(body), prompts_(prompts) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks for an answer of some tokens. A proxy that holds an answer back until its end makes
    /// every stamp but the last worthless (nginx, with TLS and proxy_buffering on).
    Task<void> ask();
    /// False where a user's template finds no text in that answer: every row would be without a
    /// token, and the preflight has failed.
    bool check_text();

  private:
    void note_length();
    void note_chunks();

    PreflightContext& context_;
    BodyForm& body_;
    const ProbePrompts& prompts_;
};

}  // namespace driftless
