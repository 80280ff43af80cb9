/// What the control groups of this process allow it: CPU time, memory and tasks. Both versions of
/// cgroups, and all groups above; the least of each counts. Read once, never in a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

struct CgroupLimits {
    /// CPUs' worth of time: at its end the kernel stops every thread for the rest of the period.
    /// Nothing: not limited, or not to be seen.
    std::optional<double> cpus;
    std::int64_t period_us = 0;  ///< of that limit
    /// Tasks (threads of all processes in the group) that may still be made.
    std::optional<std::int64_t> tasks_left;
    /// All that the group may have, with what its processes have already.
    std::optional<std::int64_t> memory_bytes;
    bool known = true;  ///< false: the groups of this process cannot be seen
};

/// `own`: the text of /proc/self/cgroup; `root`: where the groups are mounted. A container often
/// sees its own group as the root while `own` names it as the host does: then the root counts.
CgroupLimits read_cgroup_limits(std::string_view own, const std::string& root);

/// Those of this process.
CgroupLimits read_cgroup_limits();

}  // namespace driftless
