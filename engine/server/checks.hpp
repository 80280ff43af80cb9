/// Checks before time 0 and after the preflight: prompts of a sample of the rows are verified
/// (Verification); the prefix cache is looked at, and emptied, by a prompt that no row has
/// (WarmProbe).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/asker.hpp"
#include "engine/server/preflight.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Verification: a sample of the run's own prompts, and the tokens that the server makes of them.
//
// Before time 0, for `--verify-prompts`: each sampled row's prompt, built as the run builds it,
// must be as many tokens as the trace says; and it must share with another row's prompt the tokens
// that the trace's block ids say they share, no more and no fewer. Tokens are those of the
// server's tokenize endpoint, so nothing here rests on a tokenizer of ours.
//
// Token ids are tokens already, and no endpoint counts them. So such a prompt is sent for the
// shortest answer, and the server's usage counts it; what two share is compared in the ids. The
// caller gives prompts of another salt than the run's, so that no row finds its own in the cache.

struct VerifyPlan {
    AskedServer server;
    std::string model;
    TokenizeForm form = TokenizeForm::messages;
    Overhead own;       ///< the tokens around a text, as that endpoint counts
    Overhead overhead;  ///< the tokens around a prompt, as rows are built for
    const Trace* trace = nullptr;
    const Plan* plan = nullptr;
    const WordTable* words = nullptr;
    PromptBuilder* prompts = nullptr;
    // Of ids: how they are sent. `dialect` null: texts, which the endpoint counts.
    const Dialect* dialect = nullptr;
    std::string api_path;
    BodySpec body;
    std::uint32_t answer_tokens = 1;
    std::uint32_t rows_max = 0;
    std::uint64_t seed = 0;
    std::uint32_t first_request = 1;  ///< number of its first request
};

/// Two rows of the plan, by position. `blocks`: leading block ids that both have.
struct VerifyPair {
    std::uint32_t first = 0;
    std::optional<std::uint32_t> second;  ///< none shares a block with the first
    std::uint32_t blocks = 0;
};

/// Up to `rows_max` rows drawn by seed, in the order of the plan, each with the row that shares
/// most with it and is not the same prompt again. Of dual fire: requests to the first server.
std::vector<VerifyPair> draw_pairs(const Trace& trace, const Plan& plan, std::uint32_t rows_max,
                                   std::uint64_t seed);

/// What the trace says that two prompts share, in tokens as the server sees them: the template's
/// head, whole blocks, and where one ends inside a block, its part of it; all where they are equal.
std::uint32_t shared_tokens(const Trace& trace, const TraceRow& a, const TraceRow& b,
                            std::uint32_t blocks, Overhead overhead);

struct VerifyFindings {
    std::uint32_t rows = 0;  ///< whose count is right
    std::uint32_t pairs = 0;
    std::uint64_t tokens = 0;
    std::uint64_t shared_tokens = 0;
    std::uint64_t shared_beyond = 0;  ///< shared by accident: different blocks that begin alike
    std::uint32_t requests = 0;
    std::string wrong;  ///< one line where something was; the verification ends there
};

class Verification {
  public:
    Verification(Loop& loop, const VerifyPlan& plan);

    /// Turns the loop until all is asked. False: `findings().wrong` says what is.
    bool run();
    const VerifyFindings& findings() const { return findings_; }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return asker_.frames(); }
    ReadyList& ready() { return asker_.ready(); }

  private:
    Task<bool> check_all();
    Task<bool> check_row(std::uint32_t position, std::string& prompt,
                         std::vector<std::int64_t>& tokens);
    Task<bool> count_by_endpoint(const std::string& name, const std::string& prompt,
                                 std::vector<std::int64_t>& tokens, std::int64_t& counted);
    Task<bool> count_by_usage(const std::string& name, const std::string& prompt,
                              std::vector<std::int64_t>& tokens, std::int64_t& counted);
    bool check_pair(const VerifyPair& pair);
    const TraceRow& row_at(std::uint32_t position) const;
    bool fail(std::string what);

    VerifyPlan plan_;
    Asker asker_;
    VerifyFindings findings_;
    std::string first_prompt_;
    std::string second_prompt_;
    std::vector<std::int64_t> first_tokens_;
    std::vector<std::int64_t> second_tokens_;
};

/// TellTale: the prompt by which a run of the same trace, seed and salt is recognised in a server's
/// prefix cache. No row has it, and no other run. Pure.
struct TellTale {
    std::string prompt;       ///< as it is in a body
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
    /// What people should know of how it was answered, one line each.
    const std::vector<std::string>& notes() const { return context_.findings.notes; }
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
    Task<bool> ask();
    Task<void> ask_again();
    Task<bool> ask_and_reset();
    /// What came of the request to empty the cache.
    enum class Emptied : std::uint8_t { yes, not_yet, cannot };
    Task<Emptied> empty(std::string& path);
    Task<bool> prove();
    bool hits(const Probe& probe) const;
    bool fail(std::string why);
    void note(const Probe& probe);
    void give_up(const Probe& probe);

    PreflightContext context_;
    TellTale tell_tale_;
    CacheProbe state_;
    std::string failure_;
};

}  // namespace driftless
