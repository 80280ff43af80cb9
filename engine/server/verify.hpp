/// Verification: a sample of the run's own prompts, and the tokens that the server makes of them.
///
/// Before time 0, for `--verify-prompts`: each sampled row's prompt, built as the run builds it,
/// must be as many tokens as the trace says; and it must share with another row's prompt the tokens
/// that the trace's block ids say they share, no more and no fewer. Tokens are those of the
/// server's tokenize endpoint, so nothing here rests on a tokenizer of ours.
///
/// Token ids are tokens already, and no endpoint counts them. So such a prompt is sent for the
/// shortest answer, and the server's usage counts it; what two share is compared in the ids. The
/// caller gives prompts of another salt than the run's, so that no row finds its own in the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/asker.hpp"
#include "engine/server/probe.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
    Task<void> all();
    Task<bool> check_row(std::uint32_t position, std::string& prompt,
                         std::vector<std::int64_t>& tokens);
    Task<bool> count_by_endpoint(const std::string& name, const std::string& prompt,
                                 std::vector<std::int64_t>& tokens, std::int64_t& counted);
    Task<bool> count_by_usage(const std::string& name, const std::string& prompt,
                              std::vector<std::int64_t>& tokens, std::int64_t& counted);
    bool check_pair(const VerifyPair& pair);
    std::string build(const TraceRow& row);
    const TraceRow& row_at(std::uint32_t position) const;
    bool fail(std::string what);

    VerifyPlan plan_;
    Asker asker_;
    VerifyFindings findings_;
    std::string first_prompt_;
    std::string second_prompt_;
    std::vector<std::int64_t> first_tokens_;
    std::vector<std::int64_t> second_tokens_;
    bool done_ = false;
    bool ok_ = false;
};

}  // namespace driftless
