#include "cmd/doctor/readings.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <vector>

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

/// `what` is RLIMIT_AS or the like.
std::uint64_t limit_of(__rlimit_resource what) {
    rlimit limit{};
    const bool known = ::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

void* wait_for_all(void* latch) {
    static_cast<std::latch*>(latch)->wait();
    return nullptr;
}

/// Starts as many threads as a replay has, and ends them: what the limits of user and container
/// leave is known to nobody else.
std::uint32_t start_threads() {
    std::latch all(1);
    std::vector<pthread_t> threads;
    pthread_t thread{};
    pthread_attr_t small{};  // the limit of the address space is judged by itself
    constexpr std::size_t stack_bytes = 128 << 10;
    (void)::pthread_attr_init(&small);
    (void)::pthread_attr_setstacksize(&small, stack_bytes);
    while (threads.size() < threads_needed &&
           ::pthread_create(&thread, &small, &wait_for_all, &all) == 0) {
        threads.push_back(thread);
    }
    (void)::pthread_attr_destroy(&small);
    all.count_down();
    for (const pthread_t one : threads) {
        (void)::pthread_join(one, nullptr);
    }
    return static_cast<std::uint32_t>(threads.size());
}

SchedulingClass read_scheduling() {
    SchedulingClass found;
    found.policy = ::sched_getscheduler(0);
    found.nice = ::getpriority(PRIO_PROCESS, 0);
    return found;
}

Network read_network() {
    struct ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return Network::more;  // not known: no warning
    }
    Network network = Network::none;
    for (const struct ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        const bool is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
        if ((one->ifa_flags & IFF_UP) != 0) {
            network = std::max(network, is_loopback ? Network::loopback : Network::more);
        }
    }
    ::freeifaddrs(all);
    return network;
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
        // Some systems of files have no such number.
        host.folder_files_free = system.f_files > 0 ? system.f_favail : UINT64_MAX;
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
    host.threads_started = start_threads();
    host.address_space_bytes = std::min(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
    host.file_bytes_max = limit_of(RLIMIT_FSIZE);
    host.scheduling = read_scheduling();
    host.network = read_network();
    host.clock = read_clock_source();
    host.interfaces = read_interfaces();
    host.port_reuse = reused_ports();
    host.receive_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_rmem", 2).value_or(0);
    host.send_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_wmem", 2).value_or(0);
    host.memory_available = available_memory();
    read_folder(options.folder, host);
    const FoundCalibration found = find_calibration("", host.facts, {});
    host.calibration_date = found.calibration ? found.calibration->date : "";
    host.why_no_calibration = found.why_not;
    return host;
}

}  // namespace driftless
