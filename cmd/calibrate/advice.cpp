#include "cmd/calibrate/advice.hpp"

#include <fmt/format.h>

#include "engine/host/host.hpp"
#include "engine/host/kernel_files.hpp"

namespace driftless {

namespace {

constexpr std::size_t cpus_enough = 3;
constexpr std::uint64_t files_enough = 4096;
constexpr std::uint32_t backlog_enough = 1024;
constexpr std::int64_t idle_latency_noticed_us = 50;
constexpr double share_noticed = 0.01;

HostFinding judged(bool well, const char* topic, std::string found, std::string remedy) {
    return {well ? Grade::ok : Grade::warning, topic, std::move(found),
            well ? "" : std::move(remedy)};
}

HostFinding judge_cpus(const HostSettings& s) {
    return judged(
        s.cpus_allowed >= cpus_enough, "CPUs",
        s.cpus_allowed == 1 ? "1 CPU is allowed"
                            : fmt::format("{} CPUs are allowed", s.cpus_allowed),
        "the engine and the writer need one CPU each, and the rest of the system a third");
}

HostFinding judge_governor(const HostSettings& s) {
    const std::string& governor = s.power.governor;
    return judged(governor.empty() || governor == "performance", "governor",
                  governor.empty()
                      ? "not known: the host does not report its clock scaling"
                      : fmt::format("CPU {} runs under the governor {}", s.engine_cpu, governor),
                  "cpupower frequency-set -g performance");
}

HostFinding judge_idle(const HostSettings& s) {
    const PowerSettings& power = s.power;
    if (power.idle_state.empty()) {
        return {Grade::ok, "idle states", "not known: the host does not report its idle states",
                ""};
    }
    return judged(power.idle_latency_us <= idle_latency_noticed_us, "idle states",
                  fmt::format("a sleeping CPU takes up to {} us to wake ({})",
                              power.idle_latency_us, power.idle_state),
                  "cpupower idle-set -D 50, or replay with --wait spin");
}

HostFinding judge_files(const HostSettings& s) {
    return judged(s.file_limit >= files_enough, "open files",
                  fmt::format("at most {} files can be open", s.file_limit),
                  "ulimit -n 65536 for more connections");
}

HostFinding judge_backlog(const HostSettings& s) {
    if (s.backlog_max == 0) {
        return {Grade::ok, "backlog", "not known: the host does not report its accept queue", ""};
    }
    return judged(s.backlog_max >= backlog_enough, "backlog",
                  fmt::format("a server on this host queues at most {} connections", s.backlog_max),
                  "sysctl -w net.core.somaxconn=4096");
}

HostFinding judge_slow_start(const HostSettings& s) {
    return judged(
        !s.slow_start_after_idle, "slow start",
        s.slow_start_after_idle
            ? "an idle connection restarts slowly, which delays long prompts over a network"
            : "an idle connection keeps its rate",
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
}

}  // namespace

HostSettings read_host_settings(std::uint32_t engine_cpu, std::size_t cpus_allowed) {
    HostSettings settings;
    settings.engine_cpu = engine_cpu;
    settings.power = read_power_settings(engine_cpu);
    settings.isolated = kernel_line("/sys/devices/system/cpu/isolated");
    settings.cpus_allowed = cpus_allowed;
    settings.file_limit = raise_file_limit();
    settings.backlog_max =
        static_cast<std::uint32_t>(kernel_number("/proc/sys/net/core/somaxconn").value_or(0));
    settings.ports = ephemeral_ports();
    settings.slow_start_after_idle =
        kernel_number("/proc/sys/net/ipv4/tcp_slow_start_after_idle") == 1;
    return settings;
}

std::vector<HostFinding> judge_settings(const HostSettings& settings) {
    return {judge_cpus(settings),  judge_governor(settings), judge_idle(settings),
            judge_files(settings), judge_backlog(settings),  judge_slow_start(settings)};
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
    if (s.isolated.empty() && c.spin_lost_share > share_noticed) {
        say(fmt::format(
            "a spinning thread lost {:.1f} % of its time: isolate a core (isolcpus=, "
            "nohz_full=) and give it to --cpu{}",
            100 * c.spin_lost_share,
            c.realtime ? "" : ", or replay with --realtime (and calibrate with it first)"));
    }
    for (const HostFinding& finding : judge_settings(s)) {
        if (finding.grade != Grade::ok) {
            say(finding.found + ": " + finding.remedy);
        }
    }
    return advice;
}

}  // namespace driftless
