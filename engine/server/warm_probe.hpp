/// TellTale: the prompt by which a run of the same trace, seed and salt is recognised in a server's
/// prefix cache. No row has it, and no other run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/probe_sender.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct TellTale {
    std::string prompt;       ///< as it stands in a body
    std::uint64_t words = 0;  ///< tokens of it, without the server's own
    bool is_salted = true;    ///< another salt makes another one
};

/// `tokens` as the server counts, its own among them. `options` are those of the rows' prompts.
/// `server` is its number in the run: two names of one server are not an earlier run. The trace
/// counts by its digest alone; where rows are recorded bodies, they are the same under any seed and
/// salt, and so is this.
TellTale make_tell_tale(const Trace& trace, const WordTable& words, PromptOptions options,
                        std::size_t server, std::uint32_t tokens);

/// WarmProbe: whether one server's prefix cache holds what only an earlier run can have left; and
/// the emptying of that cache, with its proof.
///
/// Before time 0 a prompt is sent that every run of the same seed, salt and trace sends, and nobody
/// else. Where its tokens are cached, such a run was
/// there before, and its rows' prompts may be cached, too: `warm`. Where they are not, it is sent
/// once more: hits now prove that the server keeps prompts and tells so: `cold`. Without them
/// nothing is known. The prompt stays in the cache, for the run that comes next.
///
/// TTFT is never looked at: it proves nothing. Only cached tokens count, and only those beyond what
/// any two prompts share (the template, and words that are alike by accident). Behind a router, or
/// with several workers, it tells of the one that answers. Requests are named as those of the
/// preflight, and are no rows.
class WarmProbe {
  public:
    /// `found` is what the preflight found of the server; requests are numbered from `first`.
    WarmProbe(Loop& loop, const PreflightPlan& plan, const PreflightFindings& found,
              TellTale tell_tale, std::uint32_t first);

    /// Turns the loop until the state is known, or cannot be. Never fails a run.
    CacheProbe look();
    /// Empties the cache by the server's own endpoint, vLLM's or SGLang's, and proves it: what was
    /// cached before must not be afterwards. False: `failure` says why, with the remedy.
    bool reset(CacheProbe& out);
    const std::string& failure() const { return failure_; }
    std::uint32_t next_name() const { return context_.asker.next_name(); }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// A server may free the blocks of an answer a little later than it ends it.
    static constexpr Duration settle_pause = milliseconds(200);
    /// The endpoint is asked so often before the proof is given up: requests of others may have
    /// been in flight, and vLLM answers 200 even so.
    static constexpr int reset_tries = 4;
    static constexpr Duration reset_pause = milliseconds(500);

  private:
    Task<void> look_job();
    Task<void> reset_job();
    Task<void> ask(CacheProbe& out);
    Task<void> ask_again(CacheProbe& out);
    /// What came of the request to empty the cache.
    enum class Emptied : std::uint8_t { yes, not_yet, cannot };
    Task<Emptied> empty(std::string& path);
    Task<bool> prove(CacheProbe& out);
    bool hits(const Probe& probe) const;
    bool fail(std::string why);
    void note(const Probe& probe, CacheProbe& out) const;
    void give_up(const Probe& probe, CacheProbe& out) const;

    PreflightContext context_;
    RetryingAsker retrying_;
    ProbeSender sender_;
    TellTale tell_tale_;
    CacheProbe state_;
    std::string failure_;
    bool ok_ = false;
    bool done_ = false;
};

}  // namespace driftless
