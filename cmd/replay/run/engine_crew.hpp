/// EngineCrew: the engines of a run and all that they have, from the deal of the plan to the sums
/// of their ends. Used by the thread of the first engine, which makes the others' threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/engine_seat.hpp"
#include "cmd/replay/run/engine_threads.hpp"
#include "engine/live/live_run.hpp"
#include "engine/record/writer.hpp"

namespace driftless {

class EngineCrew {
  public:
    /// A seat for each of the host's engines that gets rows to send; at least one. The arguments
    /// outlive the crew. Prints an error if memory is missing.
    static OrExit<std::unique_ptr<EngineCrew>> make(ReplayParts& parts, const DealtPlan& dealt,
                                                    const HostChoice& host);
    EngineCrew(const EngineCrew&) = delete;
    EngineCrew& operator=(const EngineCrew&) = delete;

    /// The seat of the first engine, or the only one.
    EngineSeat& first() { return *seats_.front(); }
    /// Takes the memory for bodies. `replies`: of the only engine; else null. Errors: those of
    /// RequestPass::open.
    Result<void> open(const Replies* replies);
    /// Of users: their requests have numbers below this in the run; else 0. `rows`: of the plan
    /// that was dealt.
    std::uint32_t requests_end(std::size_t rows) const;
    /// Starts the others' threads. Prints what fails.
    int start_others(const EngineOrders& orders);
    const std::vector<std::unique_ptr<EngineThread>>& others() const { return others_; }

    /// Marks for every engine or for none: with marks of only some, rows of the others would look
    /// as if they had not left. Returns those of the first engine. Errors: those of
    /// FiredMarks::create.
    Result<FiredMarks> create_marks(const std::string& run_id, std::size_t rows);
    /// Where the writer reads, once all are warm. To be called by the first engine's thread.
    std::vector<EventSource> sources();

    // Once all are over.
    /// Prints why others failed: an exit code.
    int failure() const;
    RunEnd end(Run& first_run, const UringDriver& driver);
    /// The writer's side has stopped one of them before its end.
    bool stopped_early(const Run& first_run) const;
    /// Joins the others.
    void dismiss() { others_.clear(); }

  private:
    EngineCrew() = default;

    std::vector<std::unique_ptr<EngineSeat>> seats_;
    std::vector<std::uint32_t> other_cpus_;
    std::vector<std::unique_ptr<EngineThread>> others_;
};

}  // namespace driftless
