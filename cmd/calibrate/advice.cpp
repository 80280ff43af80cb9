#include "cmd/calibrate/advice.hpp"

#include <fmt/format.h>

#include <fstream>

#include "engine/host/host.hpp"

namespace driftless {

namespace {

// The first line of a small file of the kernel; empty where it is not there.
std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    (void)std::getline(file, line);
    return line;
}

// The first number of a small file of the kernel; 0 where it is not there.
std::uint32_t first_number(const std::string& path) {
    std::ifstream file(path);
    std::uint32_t number = 0;
    (void)(file >> number);
    return number;
}

constexpr std::size_t cpus_enough = 3;
constexpr std::uint64_t files_enough = 4096;
constexpr std::uint32_t backlog_enough = 1024;
constexpr double share_noticed = 0.01;

}  // namespace

HostSettings read_host_settings(std::uint32_t engine_cpu, std::size_t cpus_allowed) {
    HostSettings settings;
    const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(engine_cpu);
    settings.governor = first_line(cpu + "/cpufreq/scaling_governor");
    settings.isolated = first_line("/sys/devices/system/cpu/isolated");
    settings.cpus_allowed = cpus_allowed;
    settings.file_limit = raise_file_limit();
    settings.backlog_max = first_number("/proc/sys/net/core/somaxconn");
    settings.ports = ephemeral_ports();
    settings.slow_start_after_idle =
        first_number("/proc/sys/net/ipv4/tcp_slow_start_after_idle") == 1;
    return settings;
}

std::vector<std::string> advice_of(const Calibration& c, const HostSettings& s) {
    std::vector<std::string> advice;
    const auto say = [&advice](std::string line) { advice.push_back(std::move(line)); };
    if (c.steal_share > share_noticed) {
        say(
            fmt::format("the hypervisor took {:.1f} % of the engine's CPU (steal): ask for "
                        "dedicated cores, or run at a quieter hour",
                        100 * c.steal_share));
    }
    if (c.run_delay_share > share_noticed) {
        say(
            fmt::format("other programs held the engine's CPU for {:.1f} % of the time: stop them, "
                        "or name another core with --cpu",
                        100 * c.run_delay_share));
    }
    if (s.cpus_allowed < cpus_enough) {
        say(fmt::format(
            "{} CPUs are allowed: the engine and the writer need one each, and the rest of "
            "the machine needs a third",
            s.cpus_allowed));
    }
    if (!s.governor.empty() && s.governor != "performance") {
        say(fmt::format("CPU {} runs under the governor {}: cpupower frequency-set -g performance",
                        c.engine_cpu, s.governor));
    }
    if (s.isolated.empty() && c.spin_lost_share > share_noticed) {
        say(fmt::format(
            "a spinning thread lost {:.1f} % of its time: isolate a core (isolcpus=, "
            "nohz_full=) and give it to --cpu{}",
            100 * c.spin_lost_share,
            c.realtime ? "" : ", or replay with --realtime (and calibrate with it first)"));
    }
    if (s.file_limit < files_enough) {
        say(fmt::format("at most {} files may be open: ulimit -n 65536 for more connections",
                        s.file_limit));
    }
    if (s.backlog_max > 0 && s.backlog_max < backlog_enough) {
        say(
            fmt::format("a server on this host queues at most {} connections: "
                        "sysctl -w net.core.somaxconn=4096",
                        s.backlog_max));
    }
    if (s.slow_start_after_idle) {
        say("a connection that was idle starts slowly again, which delays long prompts over a "
            "network: sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
    }
    return advice;
}

}  // namespace driftless
