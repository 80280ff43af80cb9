#include "engine/host/cpu_load.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "engine/host/host.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

const CpuLoad* load_of(const std::vector<CpuLoad>& loads, std::uint32_t cpu) {
    const auto found = std::find_if(loads.begin(), loads.end(),
                                    [cpu](const CpuLoad& load) { return load.cpu == cpu; });
    return found == loads.end() ? nullptr : &*found;
}

static constexpr std::size_t idle_field = 3;  // proc_stat(5): user nice system idle iowait ..
static constexpr std::size_t iowait_field = 4;
static constexpr std::size_t fields = 8;  // up to steal; guest time is part of user time

static bool is_among(std::uint32_t cpu, const std::vector<std::uint32_t>& cpus) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

/// Twice its own ticks and those of its busiest sibling.
static std::int64_t disturbance(const std::vector<CpuLoad>& loads, const CpuLoad& load) {
    std::int64_t busiest = 0;
    for (const std::uint32_t sibling : load.siblings) {
        const CpuLoad* other = load_of(loads, sibling);
        busiest = std::max(busiest, other == nullptr ? 0 : other->busy);
    }
    return 2 * load.busy + busiest;
}

static std::string percent_of(const CpuLoad& load) {
    const std::int64_t percent = load.ticks > 0 ? 100 * load.busy / load.ticks : 0;
    return std::to_string(std::clamp<std::int64_t>(percent, 0, 100)) + " %";
}

/// "the quietest of 2 over 100 ms: 0 % busy, the busiest 90 %".
static std::string reason_of(const std::vector<CpuLoad>& loads, const CpuLoad& chosen,
                             const std::vector<std::uint32_t>& candidates) {
    const CpuLoad* busiest = &chosen;
    for (const std::uint32_t cpu : candidates) {
        const CpuLoad* load = load_of(loads, cpu);
        busiest = load != nullptr && load->busy > busiest->busy ? load : busiest;
    }
    const std::string count = std::to_string(candidates.size());
    if (candidates.size() > 1 && percent_of(chosen) == percent_of(*busiest)) {
        return (count == "2" ? "both" : "all " + count) + " were " + percent_of(chosen) +
               " busy over 100 ms";
    }
    return "the quietest of " + count + " over 100 ms: " + percent_of(chosen) +
           " busy, the busiest " + percent_of(*busiest);
}

std::vector<CpuLoad> parse_cpu_loads(std::string_view proc_stat) {
    std::vector<CpuLoad> loads;
    while (proc_stat.starts_with("cpu")) {
        std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
        proc_stat.remove_prefix(std::min(line.size() + 1, proc_stat.size()));
        line.remove_prefix(3);
        if (line.starts_with(" ")) {
            continue;  // the sum of all
        }
        CpuLoad load;
        load.cpu = static_cast<std::uint32_t>(take_kernel_number(line).value_or(0));
        for (std::size_t field = 0; field < fields; ++field) {
            const std::int64_t ticks = take_kernel_number(line).value_or(0);
            load.ticks += ticks;
            load.busy += field == idle_field || field == iowait_field ? 0 : ticks;
        }
        loads.push_back(load);
    }
    return loads;
}

std::vector<CpuLoad> sample_cpu_loads(std::int64_t stretch_ns) {
    const std::vector<CpuLoad> before = parse_cpu_loads(kernel_text("/proc/stat"));
    const timespec length{stretch_ns / 1'000'000'000, stretch_ns % 1'000'000'000};
    (void)::nanosleep(&length, nullptr);
    std::vector<CpuLoad> loads = parse_cpu_loads(kernel_text("/proc/stat"));
    for (CpuLoad& load : loads) {
        const CpuLoad* earlier = load_of(before, load.cpu);
        load.busy -= earlier == nullptr ? load.busy : earlier->busy;
        load.ticks -= earlier == nullptr ? load.ticks : earlier->ticks;
        const std::string list = "/sys/devices/system/cpu/cpu" + std::to_string(load.cpu) +
                                 "/topology/thread_siblings_list";
        load.siblings = cpus_of(kernel_line(list));
        std::erase(load.siblings, load.cpu);
    }
    return loads;
}

CpuChoice choose_quiet_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated,
                           const std::vector<CpuLoad>& loads,
                           const std::optional<std::uint32_t>& writer_cpu) {
    std::vector<std::uint32_t> candidates = allowed;
    if (writer_cpu && candidates.size() > 1) {
        std::erase(candidates, *writer_cpu);
    }
    CpuChoice unseen = choose_engine_cpu(candidates, isolated);
    if (candidates.size() == 1 && allowed.size() > 1) {
        unseen.reason = "what the writer leaves free";
    }
    if (candidates.size() < 2 || is_among(unseen.cpu, cpus_of(isolated))) {
        return unseen;
    }
    const CpuLoad* quietest = nullptr;
    for (auto cpu = candidates.rbegin(); cpu != candidates.rend(); ++cpu) {
        const CpuLoad* load = load_of(loads, *cpu);
        if (load == nullptr || load->ticks <= 0) {
            return unseen;
        }
        constexpr std::int64_t no_difference = 2;  // a tick, counted twice
        if (quietest == nullptr ||
            disturbance(loads, *load) + no_difference < disturbance(loads, *quietest)) {
            quietest = load;
        }
    }
    return {quietest->cpu, reason_of(loads, *quietest, candidates)};
}

CpuChoice find_quiet_cpu(const std::optional<std::uint32_t>& writer_cpu) {
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    const std::vector<CpuLoad> loads =
        allowed.size() > 1 ? sample_cpu_loads(cpu_sample_ns) : std::vector<CpuLoad>();
    return choose_quiet_cpu(allowed, isolated_cpus(), loads, writer_cpu);
}

/// One of `taken` runs on the same core.
static bool shares_a_core(std::uint32_t cpu, const std::vector<std::uint32_t>& taken,
                          const std::vector<CpuLoad>& loads) {
    const CpuLoad* const load = load_of(loads, cpu);
    return load != nullptr &&
           std::any_of(load->siblings.begin(), load->siblings.end(),
                       [&taken](std::uint32_t sibling) { return is_among(sibling, taken); });
}

/// Those that are allowed, the quietest first; of equals the last, since the first ones serve most
/// interrupts.
static std::vector<std::uint32_t> by_quiet(std::vector<std::uint32_t> allowed,
                                           const std::vector<CpuLoad>& loads) {
    const auto busy = [&loads](std::uint32_t cpu) {
        const CpuLoad* const load = load_of(loads, cpu);
        return load == nullptr ? 0 : load->busy;
    };
    std::reverse(allowed.begin(), allowed.end());
    std::ranges::stable_sort(allowed, {}, busy);
    return allowed;
}

std::vector<std::uint32_t> choose_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                              const std::vector<std::uint32_t>& allowed,
                                              const std::vector<CpuLoad>& loads) {
    CHECK(engines > 0);
    std::vector<std::uint32_t> taken{first};
    const std::vector<std::uint32_t> quiet = by_quiet(allowed, loads);
    for (const bool may_share_a_core : {false, true}) {
        for (const std::uint32_t cpu : quiet) {
            const bool fits = may_share_a_core || !shares_a_core(cpu, taken, loads);
            if (taken.size() < engines && fits && !is_among(cpu, taken)) {
                taken.push_back(cpu);
            }
        }
    }
    for (std::size_t again = 0; taken.size() < engines; ++again) {
        taken.push_back(taken[again]);
    }
    return taken;
}

std::uint32_t engines_for(const std::vector<std::uint32_t>& allowed,
                          const std::vector<CpuLoad>& loads) {
    std::vector<std::uint32_t> cores;
    for (const std::uint32_t cpu : allowed) {
        if (!shares_a_core(cpu, cores, loads)) {
            cores.push_back(cpu);
        }
    }
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(cores.size()), 2) - 1;
}

std::vector<std::uint32_t> find_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                            std::uint32_t most,
                                            const std::vector<std::uint32_t>& allowed) {
    if (engines == 1) {
        return {first};
    }
    const std::vector<CpuLoad> loads = sample_cpu_loads(cpu_sample_ns);
    const std::uint32_t wanted =
        engines == engines_auto ? std::min(engines_for(allowed, loads), most) : engines;
    return choose_engine_cpus(first, wanted, allowed, loads);
}

std::vector<std::uint32_t> cpus_beside(const std::vector<std::uint32_t>& engines,
                                       const std::vector<std::uint32_t>& allowed) {
    std::vector<std::uint32_t> left = allowed;
    std::erase_if(left, [&engines](std::uint32_t cpu) { return is_among(cpu, engines); });
    return left.empty() ? allowed : left;
}

static constexpr int depth_max = 32;  // systemd and Kubernetes make at most ten

static void take_cpus(std::optional<std::int64_t> quota_us, std::optional<std::int64_t> period_us,
                      CgroupLimits& limits) {
    if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) {
        return;  // "max", or -1 in version 1
    }
    const double cpus = static_cast<double>(*quota_us) / static_cast<double>(*period_us);
    if (!limits.cpus || cpus < *limits.cpus) {
        limits.cpus = cpus;
        limits.period_us = *period_us;
    }
}

static void take_tasks(const std::string& group, CgroupLimits& limits) {
    const std::optional<std::int64_t> most = kernel_number(group + "/pids.max");
    if (!most) {
        return;
    }
    const std::int64_t left = *most - kernel_number(group + "/pids.current").value_or(0);
    limits.tasks_left = std::min(limits.tasks_left.value_or(left), left);
}

static void take_group(const std::string& group, CgroupLimits& limits) {
    take_cpus(kernel_number(group + "/cpu.max"), kernel_number(group + "/cpu.max", 1), limits);
    take_cpus(kernel_number(group + "/cpu.cfs_quota_us"),
              kernel_number(group + "/cpu.cfs_period_us"), limits);
    take_tasks(group, limits);
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
        if (const std::optional<std::int64_t> most = kernel_number(group + file)) {
            limits.memory_bytes = std::min(limits.memory_bytes.value_or(*most), *most);
        }
    }
}

/// The group at `path` below `mount`, and those above it.
static void take_groups(const std::string& mount, std::string path, CgroupLimits& limits) {
    if (::access((mount + path).c_str(), F_OK) != 0) {
        path.clear();
    }
    for (int depth = 0; depth < depth_max; ++depth) {
        take_group(mount + path, limits);
        if (path.empty() || path == "/") {
            return;
        }
        path.resize(path.rfind('/'));
    }
}

CgroupLimits read_cgroup_limits(std::string_view own, const std::string& root) {
    CgroupLimits limits;
    limits.known = !own.empty();
    while (!own.empty()) {
        // "0::/path" of version 2; "4:cpu,cpuacct:/path" of version 1.
        const std::string_view line = own.substr(0, own.find('\n'));
        own.remove_prefix(std::min(line.size() + 1, own.size()));
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) {
            continue;
        }
        const std::string names(line.substr(first + 1, second - first - 1));
        const std::string path(line.substr(second + 1));
        if (names.empty()) {
            const bool mixed = ::access((root + "/unified").c_str(), F_OK) == 0;
            take_groups(root + (mixed ? "/unified" : ""), path, limits);
        } else {
            take_groups(root + "/" + names, path, limits);
        }
    }
    return limits;
}

CgroupLimits read_cgroup_limits() {
    return read_cgroup_limits(kernel_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace driftless
