/// EngineSeat: what one engine of a run has for itself: its share of the plan, prompts and their
/// cache, the requests that it arms, bodies, event ring, marks, and what it takes of every cap.
/// The only engine of a run has all of it. Made before time 0 on any thread; used by its engine's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/server.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/plan/plan.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/run.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// What is dealt to the engines: all of a plan, or what a resumed run has left of it.
struct DealtPlan {
    const Plan& plan;
    EarlierRows earlier;              ///< of a resumed run
    const LiveTurns* live = nullptr;  ///< of the only engine
};

class EngineSeat {
  public:
    /// Of the only engine.
    EngineSeat(ReplayParts& parts, const DealtPlan& dealt, ReplaySettings settings);
    /// Of one of several. `parts` are its own: no other engine uses them.
    EngineSeat(std::unique_ptr<ReplayParts> parts, const DealtPlan& dealt, PlanShare share,
               ReplaySettings settings, ShardPlace place);
    EngineSeat(const EngineSeat&) = delete;  // its parts refer to each other
    EngineSeat& operator=(const EngineSeat&) = delete;

    /// There was memory for events.
    bool has_memory() const { return ring_.has_memory(); }
    /// Which engine of how many.
    ShardPlace place() const { return place_; }
    const ReplaySettings& settings() const { return settings_; }
    RequestPass& pass() { return pass_; }
    EventRing& ring() { return ring_; }
    FiredMarks& marks() { return marks_; }
    /// Of users: their requests have numbers below this; else 0.
    std::uint32_t requests_end();
    /// Of its rows in the plan that was dealt; null: they are all of it.
    const std::vector<std::uint32_t>* positions() const {
        return share_ ? &share_->positions : nullptr;
    }

    /// What its loop is made of; the seat outlives the loop, but for what the caller adds.
    RunParts run_parts(const std::atomic<int>& stop_requests, const ThreadMeter& meter);

    /// What `run.json` says of its end. Once its loop is over, on its thread.
    RunEnd end_of(Run& run, const UringDriver& driver);

  private:
    std::unique_ptr<ReplayParts> own_parts_;  ///< of one of several
    ReplayParts& parts_;
    std::optional<PlanShare> share_;
    std::optional<ResolvedTargets> own_targets_;
    ShardPlace place_;
    ReplaySettings settings_;
    RequestPass pass_;
    PromptBuilder::CacheMarks cache_before_;  ///< of what was built before the run
    EventRing ring_;
    FiredMarks marks_;
};

/// The part of a cap that an engine gets.
ReplaySettings settings_at(ReplaySettings whole, ShardPlace place);

/// Adds the end of another engine. Bounds are those of all: sums of high-water marks.
void add_end(RunEnd& sum, const RunEnd& other);

}  // namespace driftless
