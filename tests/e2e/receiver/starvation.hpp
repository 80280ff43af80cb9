/// StarvationMeter: how long a request's reader stood with nothing to read while the request was on
/// its way. Made and used by one thread, for one request.
///
/// Waits of up to `unseen_ns` count as none. The client does not promise to see those (its loop may
/// sleep for 0.5 ms), and the kernel needs some time to bring the next bytes and to wake us. Time
/// in which this thread could run and had no CPU is not charged to the client, either: the kernel
/// counts it (schedstat). What a hypervisor takes is counted nowhere.
#pragma once

#include <cstdint>

namespace receiver {

struct Starvation {
    std::int64_t long_waits_ns = 0;  ///< in sum, what of each exceeded `unseen_ns`
    std::int64_t longest_ns = 0;
};

class StarvationMeter {
  public:
    static constexpr std::int64_t unseen_ns = 800'000;

    StarvationMeter();
    ~StarvationMeter();
    StarvationMeter(const StarvationMeter&) = delete;
    StarvationMeter& operator=(const StarvationMeter&) = delete;

    void begin_wait();
    void end_wait();
    const Starvation& starved() const { return starved_; }

  private:
    std::int64_t without_cpu_ns() const;

    int file_;
    std::int64_t began_ns_ = 0;
    std::int64_t without_cpu_ns_ = 0;  ///< of this thread, as of the last long wait
    Starvation starved_;
};

}  // namespace receiver
