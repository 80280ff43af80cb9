/// Witness: what really happened to each row of a simulated run, as its driver tells it: when the
/// kernel took parts of the request, when bytes of the answer came, when the host slept. Writes it
/// into the result, in run time. Owned by the run.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

class Witness {
  public:
    Witness(const Trace& trace, const Plan& plan, SimResult& result);

    /// Tells the driver whom to tell.
    void watch(SimDriver& driver);

  private:
    void note_send(const Op& op, Instant at);
    void note_read(const Op& op, const ReadTimes& times);
    void note_sleep(Instant at, Duration length);
    std::uint32_t row_of(std::uint32_t planned) const;
    std::int64_t in_run(Instant at) const { return at.ns - result_.zero_ns; }

    const Trace& trace_;
    const Plan& plan_;
    SimResult& result_;
};

}  // namespace driftless::sim
