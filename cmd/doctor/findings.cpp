#include "cmd/doctor/findings.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace driftless {

namespace {

// A page of 4 KiB takes 250 ns to copy: a clock that costs as much is felt at each chunk.
constexpr std::int64_t clock_reading_ns_enough = 250;
constexpr double busy_noticed = 0.05;
constexpr std::int64_t tasks_needed = 8;  // engine, writer, events, metrics, resolver, a hook
constexpr std::int64_t tasks_enough = 64;
constexpr std::uint32_t ports_enough = 16'384;
// 1 MiB in flight at 10 ms of round trip is 100 MB/s: more than any answer, less than a prompt of
// a million tokens wants.
constexpr std::int64_t window_enough = 1 << 20;
constexpr std::uint64_t memory_enough = std::uint64_t{1} << 30;
constexpr std::uint64_t disk_enough = std::uint64_t{1} << 30;
constexpr std::uint64_t lockable_enough = std::uint64_t{256} << 20;  // a run of 2,000 lanes
constexpr std::uint32_t receive_wait_us_enough = 20;

HostFinding well(const char* topic, std::string found) {
    return {Grade::ok, topic, std::move(found), ""};
}
HostFinding warning(const char* topic, std::string found, std::string remedy) {
    return {Grade::warning, topic, std::move(found), std::move(remedy)};
}
HostFinding fault(const char* topic, std::string found, std::string remedy) {
    return {Grade::fault, topic, std::move(found), std::move(remedy)};
}

/// A refusal is "what was found; what to do".
HostFinding judge_ring(const RingProbe& ring) {
    constexpr const char* topic = "io_uring";
    if (ring.refusal.empty()) {
        return well(topic, ring.text());
    }
    const std::size_t semicolon = ring.refusal.find("; ");
    return fault(topic, ring.refusal.substr(0, semicolon),
                 semicolon == std::string::npos ? "look for limits of this user: ulimit -a"
                                                : ring.refusal.substr(semicolon + 2));
}

/// "Linux 6.13.2" and newer bound one pass over completions.
HostFinding judge_kernel(const HostFacts& facts) {
    int major = 0;
    int minor = 0;
    (void)std::sscanf(facts.kernel.c_str(), "Linux %d.%d", &major, &minor);
    const std::string found = facts.kernel + (facts.virtual_machine ? ", a virtual machine" : "");
    if (major > 6 || (major == 6 && minor >= 13)) {
        return well("kernel", found);
    }
    return warning("kernel", found,
                   "use Linux 6.13 or newer: before it, a pass over completions is unbounded, so a "
                   "burst of tokens can delay a row");
}

HostFinding judge_engine_cpu(const HostReadings& host) {
    const std::string found =
        fmt::format("CPU {}: {}", host.engine_cpu.cpu, host.engine_cpu.reason);
    if (host.engine_cpu_busy <= busy_noticed) {
        return well("engine's CPU", found);
    }
    return warning(
        "engine's CPU", fmt::format("{}, {:.0f} % busy", found, 100 * host.engine_cpu_busy),
        "stop the programs on it, or isolate a core (isolcpus=, nohz_full=) and give it to --cpu");
}

HostFinding judge_quota(const CgroupLimits& cgroup) {
    if (!cgroup.cpus) {
        return well("CPU quota", "none");
    }
    return warning(
        "CPU quota",
        fmt::format("{:.2f} CPUs in each {} ms; when they are used up, every thread stops until "
                    "the next period",
                    *cgroup.cpus, cgroup.period_us / 1000),
        "assign whole CPUs instead: --cpuset-cpus without --cpus (Docker, Podman), a Guaranteed "
        "pod with the static CPU manager (Kubernetes), an empty CPUQuota= (systemd)");
}

HostFinding judge_tasks(const CgroupLimits& cgroup) {
    if (!cgroup.tasks_left) {
        return well("tasks", "not limited");
    }
    const std::string found = fmt::format("{} more can be started", *cgroup.tasks_left);
    constexpr const char* remedy =
        "raise the limit: --pids-limit (Docker, Podman), podPidsLimit (kubelet), TasksMax= "
        "(systemd)";
    return *cgroup.tasks_left >= tasks_enough   ? well("tasks", found)
           : *cgroup.tasks_left >= tasks_needed ? warning("tasks", found, remedy)
                                                : fault("tasks", found, remedy);
}

HostFinding judge_locked(std::uint64_t lockable_bytes) {
    if (lockable_bytes == UINT64_MAX) {
        return well("locked memory", "not limited");
    }
    const std::string found = fmt::format("{} KiB may be locked", lockable_bytes / 1024);
    return lockable_bytes >= lockable_enough
               ? well("locked memory", found)
               : warning("locked memory", found,
                         "ulimit -l unlimited (memlock in limits.conf, LimitMEMLOCK= of systemd) "
                         "keeps the run's pages in memory");
}

HostFinding judge_clock(const ClockSource& clock) {
    const std::string found =
        fmt::format("{}, {} ns per reading", clock.name.empty() ? "unnamed source" : clock.name,
                    clock.reading_ns);
    return clock.reading_ns <= clock_reading_ns_enough
               ? well("clock", found)
               : warning("clock", found,
                         "use a clock that needs no system call: clocksource=tsc tsc=reliable on "
                         "the kernel's command line");
}

HostFinding judge_turbo(const std::optional<bool>& turbo) {
    return well("turbo", !turbo   ? "not known: the host does not report it"
                         : *turbo ? "on: speed depends on temperature and on other cores"
                                  : "off");
}

void add_part(const char* name, const std::optional<bool>& on, std::string& text) {
    text += on ? fmt::format(", {} {}", name, *on ? "on" : "off") : "";
}

HostFinding judge_interface(const Interface& one) {
    std::string found = fmt::format("{}: MTU {}", one.name, one.mtu);
    add_part("tso", one.tso, found);
    add_part("gso", one.gso, found);
    add_part("gro", one.gro, found);
    add_part("lro", one.lro, found);
    add_part("transmit stamps", one.transmit_stamps, found);
    if (one.receive_wait_us) {
        found += fmt::format(", interrupts {} us after a packet{}", *one.receive_wait_us,
                             one.receive_wait_adapts ? " (adaptive)" : "");
    }
    if (one.lro.value_or(false)) {
        return warning("interface", found, fmt::format("ethtool -K {} lro off", one.name));
    }
    if (one.receive_wait_us.value_or(0) > receive_wait_us_enough) {
        return warning(
            "interface", found,
            fmt::format(
                "ethtool -C {} adaptive-rx off rx-usecs 0: answers are delayed by this much",
                one.name));
    }
    return well("interface", found);
}

HostFinding judge_ports(const HostReadings& host) {
    const std::uint32_t ports = host.settings.ports;
    if (ports == 0) {
        return well("ports", "not known: the host does not report its port range");
    }
    const std::string found = fmt::format(
        "{} for connections to one server{}", ports,
        host.port_reuse == 1 ? "" : "; each stays in use for 60 s after its connection");
    return ports >= ports_enough
               ? well("ports", found)
               : warning("ports", found,
                         "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" for more open "
                         "connections");
}

HostFinding judge_window(const char* topic, const char* setting, const char* what,
                         std::int64_t bytes) {
    if (bytes == 0) {
        return well(topic, "not known: the host does not report it");
    }
    const std::string found = fmt::format("up to {} KiB {}", bytes / 1024, what);
    return bytes >= window_enough
               ? well(topic, found)
               : warning(topic, found,
                         fmt::format("sysctl -w net.ipv4.{}=\"4096 131072 6291456\"", setting));
}

HostFinding judge_memory(std::uint64_t bytes) {
    const std::string found = fmt::format("{} MiB free", bytes >> 20);
    return bytes == 0 ? well("memory", "not known: the host does not report it")
           : bytes >= memory_enough
               ? well("memory", found)
               : warning("memory", found,
                         "stop other programs, or raise the container's limit: "
                         "a replay needs about 100 MiB and the trace");
}

HostFinding judge_folder(const HostReadings& host) {
    if (!host.folder_refusal.empty()) {
        return fault("folder of runs",
                     fmt::format("{} cannot be created: {}", host.folder, host.folder_refusal),
                     "name a writable folder with --out, or run in another directory");
    }
    if (host.folder_bytes_free == UINT64_MAX) {
        return well("folder of runs", host.folder + " is writable");
    }
    const std::string found =
        fmt::format("{} is writable, {} MiB free", host.folder, host.folder_bytes_free >> 20);
    return host.folder_bytes_free >= disk_enough
               ? well("folder of runs", found)
               : warning("folder of runs", found,
                         "a row needs about 1 KiB plus 50 bytes per token; name another folder "
                         "with --out, or use --chunks none");
}

HostFinding judge_calibration(const HostReadings& host) {
    return host.calibration_date.empty()
               ? warning("calibration", host.why_no_calibration,
                         "run driftless calibrate once while nothing else runs (20 s)")
               : well("calibration", "of " + host.calibration_date);
}

}  // namespace

std::vector<HostFinding> judge_host(const HostReadings& host) {
    std::vector<HostFinding> all{judge_kernel(host.facts), judge_ring(host.ring),
                                 judge_engine_cpu(host),   judge_quota(host.cgroup),
                                 judge_tasks(host.cgroup), judge_locked(host.lockable_bytes),
                                 judge_clock(host.clock),  judge_turbo(host.settings.power.turbo)};
    for (HostFinding& finding : judge_settings(host.settings)) {
        all.push_back(std::move(finding));
    }
    for (const Interface& interface : host.interfaces) {
        all.push_back(judge_interface(interface));
    }
    all.push_back(judge_ports(host));
    all.push_back(judge_window("receiving", "tcp_rmem", "of an answer can wait in the kernel",
                               host.receive_bytes_max));
    all.push_back(
        judge_window("sending", "tcp_wmem", "of a prompt can be in transit", host.send_bytes_max));
    all.push_back(judge_memory(host.memory_available));
    all.push_back(judge_folder(host));
    all.push_back(judge_calibration(host));
    return all;
}

}  // namespace driftless
