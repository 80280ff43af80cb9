/// Engines: the loops of a run, which share nothing but trace, plan and time 0. RunOrder drives
/// them as one: `cmd/replay` has a thread for each but the first, the simulator plays all of them
/// by turns.
#pragma once

#include <cstdint>

#include "engine/replay/run.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

class Engines {
  public:
    virtual ~Engines() = default;

    /// Due of the first request of all, from time 0.
    virtual std::int64_t first_due_ns() const = 0;
    /// A step towards standing connections and armed first requests. False once all have them, or
    /// cannot have them.
    virtual bool warm() = 0;
    /// Why one of them could not be set up; nothing was sent then. Empty: none failed.
    virtual bool failed() const { return false; }
    /// Time 0 is settled. As Run::begin, for all of them.
    virtual void begin(Instant zero) = 0;
    /// One turn of the loop that the caller's thread plays. False when all engines are over.
    virtual bool turn() = 0;
    /// Fires nothing more, drains, and ends as after an interruption.
    virtual void stop() = 0;
    /// Ends a run that was never begun: closes every connection, gives no row an end.
    virtual void abandon() = 0;

    /// Once all are over: requests whose turn has come, sent or not.
    virtual std::uint64_t rows_taken() const = 0;
};

/// The only engine of a run.
class OneEngine final : public Engines {
  public:
    /// `run` is new, and outlives this.
    explicit OneEngine(Run& run) : run_(run) {}

    std::int64_t first_due_ns() const override { return run_.first_due_ns(); }
    bool warm() override {
        if (run_.warm()) {
            return false;
        }
        (void)run_.turn();
        return true;
    }
    void begin(Instant zero) override { run_.begin(zero); }
    bool turn() override { return run_.turn(); }
    void stop() override { run_.stop(); }
    void abandon() override { run_.abandon(); }
    std::uint64_t rows_taken() const override { return run_.rows_taken(); }

  private:
    Run& run_;
};

}  // namespace driftless
