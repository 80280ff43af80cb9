/// Preflight: what is asked of the server before time 0, and what it answered.
///
/// In this order: `GET /v1/models`; two words to the tokenize endpoint, in each way that servers
/// have it, until one is understood; one request of one word; all words, twice, in different
/// orders; where that is not known of the table, words one by one at the beginning of a prompt; one
/// answer of some tokens; prompts that share their first words, where nothing else tells the
/// overhead's split or the size of the server's cache blocks. It learns the model, the overhead H
/// of template and BOS and its split, and which words (or token ids) count as one token: what does
/// not is searched for and dropped. Its requests are named as probes (RequestName) and never
/// recorded as rows. One to `/v1/models` or to the rows' API that is answered 429 or 5xx, or breaks
/// off, is sent again a little later.
///
/// The server's usage is the truth that rows are held against; the tokenize endpoint is believed as
/// far as it agrees.
///
/// Here is the order of the questions. Each idea asks its own: RetryingAsker and ProbeSender send,
/// ServerPages, TokenizeEndpoint, BodyForm, OverheadCount, WordCheck, FirstWordCheck, AnswerPace
/// and CacheSplit find out.
#pragma once

#include <cstdint>
#include <string>

#include "engine/preflight/answer_pace.hpp"
#include "engine/preflight/body_form.hpp"
#include "engine/preflight/cache_split.hpp"
#include "engine/preflight/findings.hpp"
#include "engine/preflight/first_word_check.hpp"
#include "engine/preflight/overhead_count.hpp"
#include "engine/preflight/preflight_context.hpp"
#include "engine/preflight/preflight_plan.hpp"
#include "engine/preflight/probe_prompts.hpp"
#include "engine/preflight/probe_sender.hpp"
#include "engine/preflight/retrying_asker.hpp"
#include "engine/preflight/server_pages.hpp"
#include "engine/preflight/tokenize_endpoint.hpp"
#include "engine/preflight/word_check.hpp"

namespace driftless {

class Preflight {
  public:
    /// Its requests are numbered from `first`. `--wait-ready` counts from here.
    Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first = 1);

    /// Turns the loop until all is asked. False: `failure` says why; `cancelled` where the user
    /// stopped it.
    bool run();

    /// As rows name it; `findings().model` is the same, masked.
    const std::string& model() const { return context_.model; }
    const PreflightFindings& findings() const { return context_.findings; }
    const PreflightFailure& failure() const { return context_.failure; }

    /// It ends after this, and what `--wait-ready` adds. A server on a CPU takes some minutes for
    /// the largest search of words; one that needs longer is stuck.
    static constexpr Duration whole_max = seconds(600);

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

  private:
    Task<void> ask_all();
    Task<bool> ask_needed();
    Task<void> ask_useful();
    Task<bool> probe_one_word();

    PreflightContext context_;
    RetryingAsker retrying_;
    ServerPages pages_;
    ProbePrompts prompts_;
    ProbeSender sender_;
    TokenizeEndpoint tokenize_;
    BodyForm body_;
    OverheadCount overhead_;
    WordCheck words_;
    FirstWordCheck first_words_;
    AnswerPace pace_;
    CacheSplit cache_;
    bool done_ = false;
    bool ok_ = false;
};

}  // namespace driftless
