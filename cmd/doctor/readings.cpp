#include "cmd/doctor/readings.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cmd/calibration_file.hpp"
#include "cmd/folders.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/host/kernel_files.hpp"

namespace driftless {

namespace {

void read_cpus(const DoctorOptions& options, HostReadings& host) {
    const std::vector<CpuLoad> loads = sample_cpu_loads(cpu_sample_ns);
    host.engine_cpu = options.cpu
                          ? CpuChoice{*options.cpu, "--cpu"}
                          : choose_quiet_cpu(host.facts.cpus_allowed, isolated_cpus(), loads, {});
    for (const CpuLoad& load : loads) {
        if (load.cpu == host.engine_cpu.cpu && load.ticks > 0) {
            host.engine_cpu_busy = static_cast<double>(load.busy) / static_cast<double>(load.ticks);
        }
    }
}

/// All, for root: nobody counts what it locks.
std::uint64_t lockable_bytes() {
    rlimit limit{};
    if (::geteuid() == 0 || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit.rlim_cur;
}

/// The deepest folder on the way there that exists.
std::filesystem::path existing_part(const std::string& path) {
    std::error_code ignored;
    std::filesystem::path part = std::filesystem::absolute(path, ignored);
    while (part.has_relative_path() && !std::filesystem::exists(part, ignored)) {
        part = part.parent_path();
    }
    return part;
}

void read_folder(const std::string& folder, HostReadings& host) {
    host.folder = folder;
    const Result<void> placed = try_place(folder + "/doctor");
    if (!placed) {
        host.folder_refusal = reason_of(placed.error());
    }
    struct statvfs system{};
    if (::statvfs(existing_part(folder).c_str(), &system) == 0) {
        host.folder_bytes_free = std::uint64_t{system.f_bavail} * system.f_frsize;
    }
}

}  // namespace

HostReadings read_host(const DoctorOptions& options) {
    HostReadings host;
    host.facts = read_host_facts();
    read_cpus(options, host);
    host.settings = read_host_settings(host.engine_cpu.cpu, host.facts.cpus_allowed.size());
    host.ring = probe_ring();
    host.lockable_bytes = lockable_bytes();
    host.cgroup = read_cgroup_limits();
    host.clock = read_clock_source();
    host.interfaces = read_interfaces();
    host.port_reuse = reused_ports();
    host.receive_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_rmem", 2).value_or(0);
    host.send_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_wmem", 2).value_or(0);
    host.memory_available = available_memory();
    read_folder(options.folder, host);
    const FoundCalibration found = find_calibration("", host.facts, false);
    host.calibration_date = found.calibration ? found.calibration->date : "";
    host.why_no_calibration = found.why_not;
    return host;
}

}  // namespace driftless
