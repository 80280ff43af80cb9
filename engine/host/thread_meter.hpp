/// ThreadMeter: what the kernel counts for one thread, read by that thread itself: CPU time,
/// switches, faults, and instructions where the machine counts them. Owned by whoever runs the
/// engine's thread. A reading costs about a microsecond: once a second, never beside a fire.
#pragma once

#include <cstdint>
#include <string>

namespace driftless {

/// Counts since the thread began; of a stretch: the difference of two. -1: unknown.
struct ThreadUse {
    std::int64_t user_ns = -1;  ///< with `system_ns` exact; the split between them is sampled
    std::int64_t system_ns = -1;
    std::int64_t voluntary_switches = -1;
    std::int64_t involuntary_switches = -1;
    std::int64_t minor_faults = -1;
    std::int64_t major_faults = -1;
    std::int64_t instructions = -1;  ///< in user mode
};

/// What was counted from `before` to `after`; unknown where either is.
ThreadUse operator-(const ThreadUse& after, const ThreadUse& before);

/// CPU time of the calling thread.
std::int64_t thread_cpu_ns();

class ThreadMeter {
  public:
    /// Of the calling thread, which alone may `read`.
    ThreadMeter();
    ~ThreadMeter();
    ThreadMeter(const ThreadMeter&) = delete;
    ThreadMeter& operator=(const ThreadMeter&) = delete;

    ThreadUse read() const;
    /// Why instructions are unknown; empty: they are counted.
    const std::string& why_no_instructions() const { return why_no_instructions_; }

  private:
    void open_counter();
    std::int64_t read_counter() const;

    int counter_ = -1;
    std::string why_no_instructions_;
};

}  // namespace driftless
