/// Advice: what a person can do about what `calibrate` found, one line each; and the settings of a
/// host that it judges, as `doctor` does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/host_finding.hpp"
#include "engine/host/calibration.hpp"
#include "engine/host/power.hpp"

namespace driftless {

/// Settings of the host that matter for timing. Empty or 0: cannot be read here.
struct HostSettings {
    std::uint32_t engine_cpu = 0;
    PowerSettings power;   ///< of the engine's CPU
    std::string isolated;  ///< CPUs that the scheduler leaves alone, "2-3"
    std::size_t cpus_allowed = 0;
    std::uint64_t file_limit = 0;
    std::uint32_t backlog_max = 0;  ///< net.core.somaxconn
    std::uint32_t ports = 0;        ///< ephemeral ports
    bool slow_start_after_idle = false;
};
/// `cpus_allowed`: as they were before anything was pinned.
HostSettings read_host_settings(std::uint32_t engine_cpu, std::size_t cpus_allowed);

/// A finding for each setting, most useful first.
std::vector<HostFinding> judge_settings(const HostSettings& settings);

/// What was measured, then those settings that are not as they should be.
std::vector<std::string> advice_of(const Calibration& calibration, const HostSettings& settings);

}  // namespace driftless
