/// The parts of a run between workload and loop: words, prompts, heads, bodies, armer. Owns them in
/// the order in which they refer to each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/prompt/arm.hpp"

namespace driftless {

/// How the run builds its prompts.
PromptOptions prompt_options(const ReplayOptions& options, const Server& server);

class ReplayParts {
  public:
    /// `plan` is of rows of the workload: its own, or what a resumed run has left.
    ReplayParts(const ReplayOptions& options, const Workload& workload, const Plan& plan,
                const Server& server, const std::string& run_id);

    /// Takes the memory for bodies. Errors: exhausted; too_large where `--arm-ahead all` does not
    /// fit the memory that is free.
    Result<void> open();

    const WordTable& words() const { return *words_; }
    PromptBuilder& prompts() { return *prompts_; }
    BodyPool& bodies() { return bodies_; }
    Schedule& schedule() { return *schedule_; }
    Armer& armer() { return *armer_; }
    const RowFields& row_fields() const { return row_fields_; }
    /// What is to be said of memory that bodies may have to wait for; empty: nothing.
    const std::string& shortage() const { return shortage_; }

    /// Bodies of a bounded window never take more than this (design, section 4).
    static constexpr std::size_t body_bytes_max = 64 << 20;

  private:
    const ReplayOptions& options_;
    const Workload& workload_;
    const Plan& plan_;
    const Server& server_;
    std::string run_id_;
    std::optional<WordTable> ids_;
    const WordTable* words_ = nullptr;
    std::optional<PromptBuilder> prompts_;
    std::vector<RequestHead> heads_;
    RowFields row_fields_;
    BodyFrame frame_;
    BodyPool bodies_;
    std::string shortage_;
    std::optional<Schedule> schedule_;
    std::optional<Armer> armer_;
};

}  // namespace driftless
