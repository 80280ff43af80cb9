/// Timers: deadlines of things that exist anyway (a lane, a stream), in one bounded heap.
///
/// A Timer is embedded in what it times; the heap holds pointers to it and never owns it. Setting
/// and clearing cost O(log n); nothing allocates after `reserve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/time.hpp"
#include "proto/core/check.hpp"

namespace driftless {

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
