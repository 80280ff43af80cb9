/// What `doctor` reads of this host: plain values, so that judging them needs no host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/calibrate/advice.hpp"
#include "cmd/doctor/options.hpp"
#include "cmd/ring_probe.hpp"
#include "engine/host/cgroup.hpp"
#include "engine/host/host.hpp"
#include "engine/host/interfaces.hpp"

namespace driftless {

/// How the kernel ranks this process; a replay that is started here inherits it.
struct SchedulingClass {
    int policy = 0;  ///< SCHED_OTHER, ..
    int nice = 0;
};

/// Which interfaces are up.
enum class Network : std::uint8_t { none, loopback, more };

/// A replay has up to so many threads: engine, writer, events, metrics, resolver, a hook, ..
inline constexpr std::uint32_t threads_needed = 8;
/// ... and without events so many beside its engine. Measured by a group's limit of tasks.
inline constexpr std::uint32_t threads_least = 2;

/// 0 or empty: cannot be read here.
struct HostReadings {
    HostFacts facts;
    RingProbe ring;
    HostSettings settings;
    CpuChoice engine_cpu;
    double engine_cpu_busy = 0;  ///< share of the last 100 ms, before a replay is there
    std::uint64_t lockable_bytes = UINT64_MAX;  ///< UINT64_MAX: all
    CgroupLimits cgroup;
    std::uint32_t threads_started = threads_needed;  ///< of so many that were tried
    std::uint64_t address_space_bytes = UINT64_MAX;  ///< `ulimit -v`, -d; UINT64_MAX: not limited
    std::uint64_t file_bytes_max = UINT64_MAX;       ///< `ulimit -f`; UINT64_MAX: not limited
    SchedulingClass scheduling;
    Network network = Network::more;
    ClockSource clock;
    std::vector<Interface> interfaces;
    std::uint32_t port_reuse = 0;        ///< net.ipv4.tcp_tw_reuse
    std::int64_t receive_bytes_max = 0;  ///< last of net.ipv4.tcp_rmem
    std::int64_t send_bytes_max = 0;     ///< last of net.ipv4.tcp_wmem
    std::uint64_t memory_available = 0;
    std::string folder;
    std::string folder_refusal;  ///< why no run can be written there; empty: it can
    std::uint64_t folder_bytes_free = UINT64_MAX;
    std::uint64_t folder_files_free = UINT64_MAX;
    std::string calibration_date;  ///< of the figures that hold for this host; empty: none
    std::string why_no_calibration;
};

/// Takes 100 ms, in which it looks at how busy the CPUs are.
HostReadings read_host(const DoctorOptions& options);

}  // namespace driftless
