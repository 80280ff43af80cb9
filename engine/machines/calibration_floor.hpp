/// Sink: the other end of one loopback connection, on a thread of its own: takes whatever comes and
/// throws it away. For measuring sends; it answers nothing.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

#include "engine/host/calibration.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

class Sink {
  public:
    Sink() = default;
    ~Sink();  ///< stops
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    /// Listens on a port of 127.0.0.1 and starts the thread on those CPUs (null: anywhere). It
    /// takes one connection. Errors: those of sockets and threads.
    Result<Address> start(const cpu_set_t* cpus);
    /// Waits for the end of the connection. One that nobody made is not waited for.
    void stop();

  private:
    void work();

    Socket listening_;
    SideThread thread_;
};

// Floor: what a thread of this host can do when it does nothing else. The bare measurements of
// `driftless calibrate`: gaps of a spin, lateness of each way to wait, cost of one fire.
//
// Everything runs on the calling thread, which should be pinned as the engine will be; `sink`
// (fires) is a thread of its own on the CPUs it is given. Nothing is allocated while measuring.

/// Percentiles by nearest rank. Sorts `values`, ns.
Spread spread_of(std::vector<std::int64_t>& values);

/// Gaps between two looks at the clock that nothing of ours explains.
struct SpinGaps {
    double per_s = 0;  ///< above 20 us
    std::int64_t max_ns = 0;
    double lost_share = 0;  ///< of the time, in those gaps
};
SpinGaps measure_spin_gaps(Driver& driver, Duration length);

/// Lateness of `rounds` waits of 0.5 to 1.5 ms by each policy, interleaved, so that all three meet
/// the same disturbances. The random lengths come from `seed`.
struct WaitFloors {
    Spread spin;
    Spread hybrid;  ///< sleeps until 0.3 ms before the instant, then spins
    Spread sleep;
};
/// Stops after `most`, but makes at least one round.
WaitFloors measure_waits(Driver& driver, std::uint32_t rounds, Duration most, std::uint64_t seed);

/// What it takes to hand one request to the kernel, over a loopback connection whose other end is
/// read at once. One send per 0.3 to 0.7 ms, so that the path is as cold as between two rows.
struct FireFloors {
    Spread small;  ///< 300 bytes
    Spread large;  ///< 16 KiB
};
/// Stops after `most`, but makes at least one round. Errors: those of sockets, connects and
/// threads.
Result<FireFloors> measure_fires(Driver& driver, std::uint32_t rounds, Duration most,
                                 const cpu_set_t* sink_cpus, std::uint64_t seed);

}  // namespace driftless
