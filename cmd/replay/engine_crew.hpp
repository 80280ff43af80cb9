/// EngineCrew: the engines of a run and all that they have, from the deal of the plan to the sums
/// of their ends. Used by the thread of the first engine, which makes the others' threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/host_choice.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/server.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/plan/plan.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/record/ring.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "engine/replay/run_steps.hpp"
#include "engine/replay/settings.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

// EngineSeat: what one engine of a run has for itself: its share of the plan, prompts and their
// cache, the requests that it arms, bodies, event ring, marks, and what it takes of every cap.
// The only engine of a run has all of it. Made before time 0 on any thread; used by its engine's.

class EngineSeat {
  public:
    /// Of the only engine. `plan` is all that is sent, `earlier` what a resumed run did before.
    EngineSeat(ReplayParts& parts, const Plan& plan, const EarlierRows& earlier,
               ReplaySettings settings);
    /// Of one of several. `parts` are its own: no other engine uses them.
    EngineSeat(std::unique_ptr<ReplayParts> parts, PlanShare share, const EarlierRows& earlier,
               ReplaySettings settings, ShardPlace place);
    EngineSeat(const EngineSeat&) = delete;  // its parts refer to each other
    EngineSeat& operator=(const EngineSeat&) = delete;

    /// There was memory for events.
    bool has_memory() const { return ring_.has_memory(); }
    /// Which engine of how many.
    ShardPlace place() const { return place_; }
    const ReplaySettings& settings() const { return settings_; }
    ReplayParts& parts() { return parts_; }
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
    RunEnd end_of(Run& run, const Driver& driver);

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

// EngineThreads: the engines of a run: the first plays on the caller's thread, each of the others
// on a thread of its own, pinned to a CPU of its own, with rings of its own. They meet twice:
// when all are warm, and at time 0.

/// The thread of an engine, which is the caller's, takes what it has beside it while it plays.
void take_standing(const Granted& granted, std::uint32_t cpu, EngineStanding& standing,
                   RunParts& parts);

/// One engine that is not the first.
class EngineThread {
  public:
    /// `granted`: to the first engine; `driver`: of that one, too. `stop_wanted`: of `--stop-when`.
    /// All outlive the thread.
    EngineThread(EngineSeat& seat, std::uint32_t cpu, const Granted& granted, DriverKind driver,
                 const std::atomic<bool>& stop_wanted)
        : seat_(seat), cpu_(cpu), granted_(granted), driver_(driver), stop_wanted_(stop_wanted) {}
    ~EngineThread();  ///< abandons what was not begun, and joins
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    /// Errors: denied, exhausted.
    Result<void> start();

    enum class Stage : std::uint8_t { starting, warm, failed, playing, over };
    /// How far it has come.
    Stage stage() const { return stage_.load(std::memory_order_acquire); }
    void begin(Instant zero);
    void stop() { told_to_stop_.store(true, std::memory_order_relaxed); }
    void abandon();

    EngineSeat& seat() { return seat_; }
    /// Once it is warm.
    int thread_id() const { return thread_id_; }
    /// Once it has failed.
    const Error& error() const { return error_; }
    /// Once it is over.
    const RunEnd& end() const { return *end_; }
    std::uint64_t rows_taken() const { return rows_taken_; }
    /// The writer's side has stopped it before its end.
    bool stopped_early() const { return stopped_early_; }

  private:
    enum class Order : std::uint8_t { wait, begin, abandon };

    void thread_main();
    void play(Driver& driver);
    void fail(const Error& error);

    EngineSeat& seat_;
    std::uint32_t cpu_;
    Granted granted_;
    DriverKind driver_;
    const std::atomic<bool>& stop_wanted_;
    SideThread thread_;
    std::atomic<Stage> stage_{Stage::starting};
    std::atomic<Order> order_{Order::wait};
    std::atomic<bool> told_to_stop_{false};
    Instant zero_;  ///< of Order::begin
    int thread_id_ = 0;
    Error error_;
    std::optional<RunEnd> end_;
    EngineStanding standing_;
    std::uint64_t rows_taken_ = 0;
    bool stopped_early_ = false;
};

class EngineThreads final : public Engines {
  public:
    /// `first` plays on the caller's thread. `others` are new. All of them outlive this.
    EngineThreads(Run& first, const std::vector<std::unique_ptr<EngineThread>>& others)
        : first_(first), others_(others) {}

    std::int64_t first_due_ns() const override;
    bool warm() override;
    bool failed() const override;
    void begin(Instant zero) override;
    bool turn() override;
    void stop() override;
    void abandon() override;
    std::uint64_t rows_taken() const override;

  private:
    bool all(EngineThread::Stage stage) const;

    Run& first_;
    const std::vector<std::unique_ptr<EngineThread>>& others_;
    bool first_is_over_ = false;
};

class EngineCrew {
  public:
    /// A seat for each of the host's engines that gets rows to send; at least one. `plan` is all
    /// that is sent, `earlier` what a resumed run did before. `run` and `plan` outlive the crew.
    /// Prints an error if memory is missing.
    static OrExit<std::unique_ptr<EngineCrew>> make(const Replay& run, const Plan& plan,
                                                    const EarlierRows& earlier);
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
    int start_others(const Granted& granted, const std::atomic<bool>& stop_wanted);
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
    RunEnd end(Run& first_run, const Driver& driver);
    /// The writer's side has stopped one of them before its end.
    bool stopped_early(const Run& first_run) const;
    /// Joins the others.
    void dismiss() { others_.clear(); }

  private:
    EngineCrew() = default;

    std::vector<std::unique_ptr<EngineSeat>> seats_;
    std::vector<std::uint32_t> other_cpus_;
    DriverKind driver_ = DriverKind::automatic;  ///< of the first engine
    std::vector<std::unique_ptr<EngineThread>> others_;
};

// What the flags of `replay` mean to the parts of a run: the engine and the writer.
// Plain functions from values to values.

ReplaySettings settings_of(const ReplayOptions& options, const Plan& plan, const HostChoice& host);

/// `requests_end`: of users (AssemblerConfig); 0: there are none.
AssemblerConfig assembler_config(const Replay& run, const Plan& plan, std::uint32_t requests_end);

}  // namespace driftless
