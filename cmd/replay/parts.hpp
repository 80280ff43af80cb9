/// Parts: what requests are made of, between workload and loop: the bodies and heads of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/prompt/arm.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// What the server of a side puts around a prompt, as its caches see it.
Overhead served_overhead(const Server& server, Side side = Side::none);

// What requests are made of, between workload and loop. ReplayParts is built once, when the server
// is known: words, prompts, heads, the frame of bodies, headers of rows. A RequestPass arms the
// rows of a plan from them, each once: for the run itself, and before it wherever all requests
// are built to be summed or saved.

/// How the run builds its prompts for the server of a side.
PromptOptions prompt_options(const Invocation& invocation, const Server& server,
                             Side side = Side::none);

class ReplayParts {
  public:
    /// The arguments outlive the parts and do not change. Prints an error if the dialect refuses
    /// its frame.
    static OrExit<std::unique_ptr<ReplayParts>> make(const Invocation& invocation,
                                                     const Workload& workload, const Server& server,
                                                     ShardPlace engine = {});
    ReplayParts(const ReplayParts&) = delete;  // its parts refer to each other
    ReplayParts& operator=(const ReplayParts&) = delete;

    const WordTable& words() const { return *words_; }
    /// Keeps the blocks that it has built, and counts them.
    PromptBuilder& prompts() { return prompts_; }
    const std::vector<RequestHead>& heads() const { return heads_; }
    const BodyFrame& frame() const { return frame_; }
    /// Nothing in it without `--against`.
    AgainstForm against();
    const RowFields& row_fields() const { return row_fields_; }
    /// Null where all rows have one frame.
    const RowBodies* row_bodies() const { return row_bodies_.empty() ? nullptr : &row_bodies_; }
    ShardPlace place() const { return place_; }
    const Invocation& invocation() const { return invocation_; }
    const Workload& workload() const { return workload_; }
    const Server& server() const { return server_; }

  private:
    ReplayParts(const Invocation& invocation, const Workload& workload, const Server& server,
                ShardPlace engine, BodyFrame frame, BodyFrame against_frame);

    const Invocation& invocation_;
    const Workload& workload_;
    const Server& server_;
    std::optional<WordTable> ids_;
    const WordTable* words_;
    PromptBuilder prompts_;
    /// For a second server that adds other tokens around a prompt; else both have one builder.
    std::optional<PromptBuilder> against_prompts_;
    std::vector<RequestHead> heads_;
    BodyFrame frame_;
    BodyFrame against_frame_;
    ShardPlace place_;  ///< among all engines of all processes
    RowFields row_fields_;
    RowBodies row_bodies_;
    RowBodies against_row_bodies_;
};

class RequestPass {
  public:
    /// `plan` is of rows of the workload: its own, what a resumed run has left, or an engine's
    /// share of either. The schedule is made of it. `positions`: of its rows in the plan that it is
    /// a share of; null where it is none.
    RequestPass(ReplayParts& parts, const Plan& plan, Schedule schedule, std::string run_id,
                const std::vector<std::uint32_t>* positions = nullptr)
        : parts_(parts),
          plan_(plan),
          positions_(positions),
          run_id_(std::move(run_id)),
          schedule_(std::move(schedule)) {}

    /// Takes the memory for bodies. Errors: exhausted; too_large where `--arm-ahead all` does not
    /// fit the memory that is free.
    /// `replies`: words of answers that bodies hold; null: none do.
    Result<void> open(const Replies* replies = nullptr);

    /// Arms all rows, once it is open, and hands each to `take`, which says whether to go on.
    template <typename Take>
    void arm_all(Take take) {
        constexpr std::uint32_t tokens_a_step = 1 << 20;
        bool goes_on = true;
        while (goes_on && armer_->step(Instant{}, INT64_MAX, tokens_a_step)) {
            for (const Due* due = schedule_.peek();
                 goes_on && due != nullptr && armer_->ready(*due); due = schedule_.peek()) {
                RowUnderway& request = armer_->take(schedule_.take());
                goes_on = take(request);
                armer_->discard(request);
            }
        }
    }

    BodyPool& bodies() { return bodies_; }
    Schedule& schedule() { return schedule_; }
    Armer& armer() { return *armer_; }
    /// A warning that bodies may have to wait for memory; empty: they will not.
    const std::string& shortage() const { return shortage_; }

    /// Bodies of a bounded window never take more than this (design, section 4).
    static constexpr std::size_t body_bytes_max = 64 << 20;

  private:
    ReplayParts& parts_;
    const Plan& plan_;
    const std::vector<std::uint32_t>* positions_;
    std::string run_id_;
    Schedule schedule_;
    BodyPool bodies_;
    std::string shortage_;
    std::optional<Armer> armer_;  ///< once it is open
};

/// Tokens of the longest row, prompt and output together.
std::int64_t longest_row(const Trace& trace, const Plan& plan);

}  // namespace driftless
