/// Time: instants and spans of the run's own clock, the kernel's monotonic clock, the offset
/// between two clocks; and timers, deadlines in one bounded heap.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

// Instant and Duration: integers of nanoseconds that cannot be mixed up.
//
// An Instant is a reading of CLOCK_MONOTONIC (or of the simulator's virtual clock); it says
// nothing about the time of day. Arithmetic is that of int64; 292 years do not overflow in a run.

struct Duration {
    std::int64_t ns = 0;
    constexpr auto operator<=>(const Duration&) const = default;
};

struct Instant {
    std::int64_t ns = 0;
    constexpr auto operator<=>(const Instant&) const = default;
};

constexpr Duration operator-(Instant a, Instant b) {
    return {a.ns - b.ns};
}
constexpr Instant operator+(Instant a, Duration d) {
    return {a.ns + d.ns};
}
constexpr Instant operator-(Instant a, Duration d) {
    return {a.ns - d.ns};
}
constexpr Duration operator+(Duration a, Duration b) {
    return {a.ns + b.ns};
}
constexpr Duration operator-(Duration a, Duration b) {
    return {a.ns - b.ns};
}

constexpr Duration microseconds(std::int64_t n) {
    return {n * 1000};
}
constexpr Duration milliseconds(std::int64_t n) {
    return {n * 1'000'000};
}
constexpr Duration seconds(std::int64_t n) {
    return {n * 1'000'000'000};
}

/// Later than everything: "no deadline".
inline constexpr Instant never{INT64_MAX / 2};

// The clock of code that runs outside a loop: on threads beside it, and before time 0. A loop goes
// by its driver's clock (io/driver.hpp), which the simulator can replace.

/// CLOCK_MONOTONIC, ns.
std::int64_t monotonic_ns();

// ClockOffset: how far CLOCK_REALTIME, by which the kernel stamps packets, is ahead of
// CLOCK_MONOTONIC, in which all else is told here.
//
// Both clocks are slewed alike, so the offset changes by steps only (the clock is set, NTP jumps).
// A step between two samples is not seen, so callers check a converted stamp against its bounds
// (`believable_stamp_ns` in replay/lane.hpp). A plain value; it reads no clock.

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
    /// the last (this thread lost the CPU inside it) is left out, unless it contradicts it.
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

// Timers: deadlines of things that exist anyway (a lane, a stream), in one bounded heap.
//
// A Timer is embedded in what it times; the heap holds pointers to it and never owns it. Setting
// and clearing cost O(log n); nothing allocates after the constructor.

class Timer {
  public:
    using Handler = void (*)(Timer& timer, Instant now);
    Timer() = default;
    ~Timer() { CHECK(!set()); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    bool set() const { return position_ != not_set; }
    Instant at() const { return at_; }

    Handler handler = nullptr;
    void* owner = nullptr;

  private:
    friend class Timers;
    static constexpr std::uint32_t not_set = 0xFFFFFFFFu;
    std::uint32_t position_ = not_set;
    Instant at_;
};

class Timers {
  public:
    /// Room for that many timers at once; one more is a CHECK.
    explicit Timers(std::size_t timers_max);

    /// Sets or moves a timer. Equal instants fire in no promised order.
    void set(Timer& timer, Instant at);
    void clear(Timer& timer);

    /// The earliest deadline, or `never`.
    Instant next() const { return heap_.empty() ? never : heap_[0]->at_; }
    std::size_t size() const { return heap_.size(); }

    /// Calls the handlers of at most `timers_max` due timers, earliest first; returns how many. A
    /// timer is cleared before its handler runs, so that the handler may set it again.
    std::size_t expire(Instant now, std::size_t timers_max);

  private:
    void sift_up(std::uint32_t position);
    void sift_down(std::uint32_t position);
    void place(std::uint32_t position, Timer* timer);

    std::size_t timers_max_;
    std::vector<Timer*> heap_;  ///< 4-ary, smallest first
};

}  // namespace driftless
