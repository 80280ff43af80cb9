/// SimEngines: several engines of one simulated run, played by turns: the one whose clock is least
/// goes next, as if each had a core of its own. They share trace, plan, time 0 and the writer; each
/// has a driver, servers and weather of its own.
#pragma once

#include <atomic>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "engine/replay/run_steps.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// An engine that is not the first: its world, and the product's parts over it.
struct SimEngine {
    SimEngine(const Trace& trace, const SimOptions& options, std::uint64_t dice, PlanShare dealt);

    /// Its schedule and its armer, which goes by `arm`. What its loop is made of.
    RunParts set_up(const Trace& trace, Schedule played, const std::vector<RequestHead>& heads,
                    const BodyFrame& frame, ArmerOptions arm, const std::atomic<int>& stop_requests,
                    const SimOptions& options);

    PlanShare share;
    PromptBuilder prompts;
    BodyPool bodies;
    EventRing ring;
    std::unique_ptr<TlsWorld> tls;  ///< null: plain http everywhere
    SimDriver driver;
    FiredMarks marks;
    std::optional<Schedule> schedule;
    std::optional<Armer> armer;
    std::optional<Run> run;
};

/// What each engine is dealt; of one engine none.
std::vector<PlanShare> sim_shares(const Trace& trace, const Plan& plan, const SimOptions& options);

/// Adds what the others' worlds saw to what is known of the first one's, once all are over. `plan`
/// is the whole one.
void add_worlds(SimResult& result, const std::vector<std::unique_ptr<SimEngine>>& others,
                const Trace& trace, const Plan& plan, const SimOptions& options);

class SimEngines final : public Engines {
  public:
    /// All of it outlives this; the engines have their runs.
    SimEngines(Run& first, SimDriver& driver, std::vector<std::unique_ptr<SimEngine>>& others);

    std::int64_t first_due_ns() const override;
    bool warm() override;
    void begin(Instant zero) override;
    bool turn() override;
    void stop() override;
    void abandon() override;
    std::uint64_t rows_taken() const override;

    /// The least clock of those that are not over: whatever comes, comes later. Of none, the
    /// latest.
    Instant now() const;

  private:
    struct Seat {
        Run* run;
        SimDriver* driver;
        bool is_over = false;
    };
    std::vector<Seat> seats_;
};

}  // namespace driftless::sim
