/// What the loop itself does and suffers, counted as it goes, and reported once a second.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "engine/base/time.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/lanes.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

// Health: the loop notes spans of time as it ends them; nothing here reads a clock. Owned by the
// run.

/// The kinds of work between which the loop chooses.
enum class Work : std::uint8_t { fire, receive, stamps, prepare, sleep, spin };

/// The largest of the last `window` values, as an estimate of their high quantile: the next one is
/// larger once in `window` + 1 times, where all come from one distribution. Bounds that adapt to
/// the host (guard, margin) follow it up at once and down within `window` values.
template <std::size_t window>
class RecentMax {
  public:
    /// As if every value before the first had been this one.
    explicit RecentMax(std::int64_t before) : highest_(before) { values_.fill(before); }

    void add(std::int64_t value) {
        const std::int64_t leaving = std::exchange(values_[next_], value);
        next_ = (next_ + 1) % window;
        if (value >= highest_) {
            highest_ = value;
        } else if (leaving == highest_) {
            highest_ = *std::max_element(values_.begin(), values_.end());
        }
    }
    std::int64_t value() const { return highest_; }

  private:
    std::array<std::int64_t, window> values_;
    std::size_t next_ = 0;
    std::int64_t highest_;
};

class Health {
  public:
    void begin(Instant now);

    /// A span of the loop's time, from `from` to `to`, went into this kind of work. No work of ours
    /// is longer than `stop_min_ns`: what a span has beyond it is not counted as busy.
    void note(Work work, Instant from, Instant to);
    /// A row was fired: its drift and how long handing it to the kernel took.
    void note_fire(std::int64_t drift_ns, std::int64_t submit_ns);
    /// A sleep that nothing but time ended was this late.
    void note_wake(std::int64_t error_ns);
    void note_late_arm() { sample_.late_arms += 1; }
    void note_missing_lane() { sample_.missing_lanes += 1; }

    bool second_over(Instant now) const { return now >= second_ends_; }
    /// The sample of the second that ends now, longer where the process stood still; the next one
    /// begins. The caller fills in what others count.
    ClientSample take(Instant now);

    /// A gap between two looks at the clock, with nothing done in between, that only the host can
    /// explain. 20 us is above a timer tick's work (timing-and-io.md, B.2).
    static constexpr std::int64_t spin_gap_ns = 20'000;

  private:
    ClientSample sample_;
    Instant second_ends_;
};

/// Sampler: what a run reports once a second: its own figures, its parts' and the kernel's, as one
/// entry of the event ring. Owned by the run.
class Sampler {
  public:
    /// `meter` null: what the kernel counts of the thread is not asked.
    Sampler(Driver& driver, const ThreadMeter* meter, EventRing& ring, const BodyPool& bodies,
            Lanes& lanes, Health& health)
        : driver_(driver),
          meter_(meter),
          ring_(ring),
          bodies_(bodies),
          lanes_(lanes),
          health_(health) {}

    /// Everything counts from here on.
    void begin();
    /// The second that ends now; a new one begins.
    void report(Instant now, const ClockSample& clock);

  private:
    void report_stamps(ClientSample& sample, const ClockSample& clock);
    void report_use(ClientSample& sample);

    Driver& driver_;
    const ThreadMeter* meter_;
    EventRing& ring_;
    const BodyPool& bodies_;
    Lanes& lanes_;
    Health& health_;
    // As of the last report.
    DriverCounters driver_before_;
    LaneCounts lanes_before_;
    ThreadUse use_before_;
};

}  // namespace driftless
