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

/// 0 or empty: cannot be read here.
struct HostReadings {
    HostFacts facts;
    RingProbe ring;
    HostSettings settings;
    CpuChoice engine_cpu;
    double engine_cpu_busy = 0;  ///< share of the last 100 ms, before a replay is there
    std::uint64_t lockable_bytes = UINT64_MAX;  ///< UINT64_MAX: all
    CgroupLimits cgroup;
    ClockSource clock;
    std::vector<Interface> interfaces;
    std::uint32_t port_reuse = 0;        ///< net.ipv4.tcp_tw_reuse
    std::int64_t receive_bytes_max = 0;  ///< last of net.ipv4.tcp_rmem
    std::int64_t send_bytes_max = 0;     ///< last of net.ipv4.tcp_wmem
    std::uint64_t memory_available = 0;
    std::string folder;
    std::string folder_refusal;  ///< why no run can be written there; empty: it can
    std::uint64_t folder_bytes_free = UINT64_MAX;
    std::string calibration_date;  ///< of the figures that hold for this host; empty: none
    std::string why_no_calibration;
};

/// Takes 100 ms, in which it looks at how busy the CPUs are.
HostReadings read_host(const DoctorOptions& options);

}  // namespace driftless
