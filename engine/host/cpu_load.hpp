/// CpuLoad: how busy each CPU is at the moment, so that the engine avoids busy CPUs.
/// Read before a run, never in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/host/host.hpp"

namespace driftless {

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

}  // namespace driftless
