/// RunForecast: what an infinite prefix cache would hold for each request, in the order in which
/// requests leave in the run.
///
/// A request can find what one that left before it has brought along: its prompt is in the cache
/// from then on, whatever becomes of it. So of two requests that are open at once the one that left
/// first is held to have been read first. What never left brings nothing. Passes through the corpus
/// share nothing, or the blocks that they are said to share.
///
/// Used where that order is decided in the run (closed sessions, users). Where all instants are
/// recorded, the forecast of the plan goes by the file (plan.hpp).
///
/// Owned by the assembler, which tells it of every fire in the order of the ring. Memory: a
/// PromptPaths of the plan's rows, made once, and a bit for each of its nodes and each pass that a
/// user may still send a request of.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/prompt_paths.hpp"
#include "engine/plan/server_forecast.hpp"
#include "engine/schedule/due.hpp"
#include "engine/schedule/earlier_rows.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct ForecastRules {
    bool in_run_order = false;       ///< else a RunForecast is not needed
    std::uint32_t users = 0;         ///< that begin with the run; 0: there are none
    AroundPrompt around;             ///< by the server's template
    std::uint32_t server_block = 0;  ///< tokens of its cache blocks; 0: not known
    /// [row index] first blocks that all passes share; empty: none. Needed while it is made.
    std::span<const std::uint32_t> shared_blocks;
};

/// Tokens that the cache holds.
struct ExpectedHits {
    std::uint32_t tokens = 0;             ///< as Planned::expected_cached_tokens
    std::optional<std::uint32_t> server;  ///< as Plan::server_cached
};

class RunForecast {
  public:
    /// `earlier`: of a run that is resumed, the rows that have a record; else null. The trace
    /// outlives this.
    RunForecast(const Trace& trace, const Plan& plan, const ForecastRules& rules,
                const RowEnds* earlier);

    /// What it finds; the cache holds its prompt then.
    ExpectedHits fired(const Due& due);

  private:
    std::uint32_t enter(std::uint32_t row, std::uint32_t pass);
    void forget_passes(const Due& due);

    const Trace& trace_;
    ForecastRules rules_;
    ServedLengths lengths_;
    PromptPaths paths_;
    std::vector<bool> seen_by_all_;       ///< [node] of those that all passes share
    std::deque<std::vector<bool>> seen_;  ///< [pass - first_pass_][node]
    std::uint32_t first_pass_ = 0;
    std::vector<std::uint32_t> passes_;  ///< [user] of the tree that it plays, or played last
};

}  // namespace driftless
