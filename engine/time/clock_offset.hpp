/// ClockOffset: how far CLOCK_REALTIME, by which the kernel stamps packets, is ahead of
/// CLOCK_MONOTONIC, in which all else is told here.
///
/// Both clocks are slewed alike, so the offset changes by steps only (somebody sets the clock, NTP
/// jumps); between two samples a step is unseen, and whoever converts a stamp holds the result
/// against what he knows (replay/kernel_stamp.hpp). A plain value; it reads no clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace driftless {

/// CLOCK_REALTIME read between two looks at CLOCK_MONOTONIC, ns.
struct ClockReading {
    std::int64_t before_ns = 0;
    std::int64_t realtime_ns = 0;
    std::int64_t after_ns = 0;
};

/// What is known of the offset: realtime minus monotonic, give or take half of `error_ns`.
struct ClockSample {
    std::int64_t offset_ns = 0;
    std::int64_t error_ns = 0;
    std::uint64_t steps = 0;  ///< since the start
};

class ClockOffset {
  public:
    /// The tightest of these readings becomes the offset. One that is too wide to say more than
    /// the last (somebody took the CPU inside it) is left out, unless it contradicts it.
    void take(const ClockReading* readings, std::size_t count);

    std::int64_t to_monotonic_ns(std::int64_t realtime_ns) const {
        return realtime_ns - sample_.offset_ns;
    }
    const ClockSample& sample() const { return sample_; }

    /// Readings of the two clocks are about 60 ns apart; twice the usual bracket is tight enough.
    static constexpr std::int64_t tight_ns = 1'000;

  private:
    ClockSample sample_;
    bool known_ = false;
};

}  // namespace driftless
