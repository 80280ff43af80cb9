#include "engine/host/cgroup.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/host/kernel_files.hpp"

namespace driftless {

namespace {

constexpr int depth_max = 32;  // systemd and Kubernetes make at most ten

void take_cpus(std::optional<std::int64_t> quota_us, std::optional<std::int64_t> period_us,
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

void take_tasks(const std::string& group, CgroupLimits& limits) {
    const std::optional<std::int64_t> most = kernel_number(group + "/pids.max");
    if (!most) {
        return;
    }
    const std::int64_t left = *most - kernel_number(group + "/pids.current").value_or(0);
    limits.tasks_left = std::min(limits.tasks_left.value_or(left), left);
}

void take_memory(const std::optional<std::int64_t>& most, CgroupLimits& limits) {
    if (most) {
        limits.memory_bytes = std::min(limits.memory_bytes.value_or(*most), *most);
    }
}

void take_group(const std::string& group, CgroupLimits& limits) {
    take_cpus(kernel_number(group + "/cpu.max"), kernel_number(group + "/cpu.max", 1), limits);
    take_cpus(kernel_number(group + "/cpu.cfs_quota_us"),
              kernel_number(group + "/cpu.cfs_period_us"), limits);
    take_tasks(group, limits);
    take_memory(kernel_number(group + "/memory.max"), limits);
    take_memory(kernel_number(group + "/memory.limit_in_bytes"), limits);
}

/// The group at `path` below `mount`, and those above it.
void take_groups(const std::string& mount, std::string path, CgroupLimits& limits) {
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

}  // namespace

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
    std::ifstream file("/proc/self/cgroup");
    const std::string own(std::istreambuf_iterator<char>(file), {});
    return read_cgroup_limits(own, "/sys/fs/cgroup");
}

}  // namespace driftless
