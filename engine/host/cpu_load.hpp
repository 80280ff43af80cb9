/// CPUs: how busy each is, which ones engines may have, and what a cgroup allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/host.hpp"

namespace driftless {

// CpuLoad: how busy each CPU is at the moment, so that the engine avoids busy CPUs.
// Read before a run, never in it.

/// One CPU over a stretch of time, in ticks of the kernel's accounting (10 ms).
struct CpuLoad {
    std::uint32_t cpu = 0;
    std::int64_t busy = 0;                ///< anything but idle: interrupts and steal time, too
    std::int64_t ticks = 0;               ///< length of the stretch
    std::vector<std::uint32_t> siblings;  ///< CPUs that share its core, itself left out
};

/// The lines of /proc/stat that name a CPU, since boot; no siblings.
std::vector<CpuLoad> parse_cpu_loads(std::string_view proc_stat);

/// That of one CPU; nullptr where it is not among them.
const CpuLoad* load_of(const std::vector<CpuLoad>& loads, std::uint32_t cpu);

/// Sleeps for `stretch_ns` and says what every CPU did meanwhile. Empty where it cannot be read.
std::vector<CpuLoad> sample_cpu_loads(std::int64_t stretch_ns);

/// Long enough for ten ticks, short beside the start of a run.
inline constexpr std::int64_t cpu_sample_ns = 100'000'000;

/// The CPU of the engine: an isolated one; else the quietest, where a busy sibling counts half. A
/// tick more or less is no difference: the last goes before the first ones, which serve most
/// interrupts. `writer_cpu` is taken only where there is no other.
CpuChoice choose_quiet_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated,
                           const std::vector<CpuLoad>& loads,
                           const std::optional<std::uint32_t>& writer_cpu);

/// The same, with what this host does at the moment: it is sampled where there is a choice.
CpuChoice find_quiet_cpu(const std::optional<std::uint32_t>& writer_cpu);

// Which CPUs several engines of one process take.

/// `--engines auto`: the host decides how many.
inline constexpr std::uint32_t engines_auto = 0;

/// A CPU for each of `engines`, that of the first given. Others take cores of their own, the
/// quietest first, then siblings of cores that are taken; where there are more engines than CPUs,
/// they share them. `loads` may be empty: nothing is known of cores then.
std::vector<std::uint32_t> choose_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                              const std::vector<std::uint32_t>& allowed,
                                              const std::vector<CpuLoad>& loads);

/// `--engines auto`: a core for each, and one is left to the writer and the system; at least one.
std::uint32_t engines_for(const std::vector<std::uint32_t>& allowed,
                          const std::vector<CpuLoad>& loads);

/// The same, with what this host does at the moment: it is sampled if there is more than one
/// engine. `engines_auto`: as many as `engines_for` says, but at most `most`.
std::vector<std::uint32_t> find_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                            std::uint32_t most,
                                            const std::vector<std::uint32_t>& allowed);

/// The CPUs for what is no engine: those that no engine has, or all where the engines have them
/// all.
std::vector<std::uint32_t> cpus_beside(const std::vector<std::uint32_t>& engines,
                                       const std::vector<std::uint32_t>& allowed);

// What the control groups of this process allow it: CPU time, memory and tasks. Both versions of
// cgroups, and all groups above; the least of each counts. Read once, never in a run.

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
