/// SynthArrivals: the instants at which rows or sessions arrive. The first one is 0.
#pragma once

#include <cstdint>

#include "engine/synth/spec.hpp"

namespace driftless {

class SynthArrivals {
  public:
    SynthArrivals(const ArrivalSpec& spec, std::uint64_t seed);

    /// Of the arrival that `take` takes, ns.
    std::int64_t next() const { return next_; }
    std::int64_t take();

  private:
    ArrivalSpec spec_;
    ValueLaw gap_;
    Random random_;
    std::uint64_t taken_ = 0;
    std::int64_t next_ = 0;
};

}  // namespace driftless
