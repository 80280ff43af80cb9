/// `driftless calibrate`: what this host can promise, in about 20 s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/host_errors.hpp"
#include "engine/host/calibration.hpp"
#include "engine/host/host.hpp"

namespace driftless {

/// Runs the command; `argv[0]` is its name. Returns the exit code (design, section 4).
int run_calibrate(int argc, char** argv);

// The command line of `driftless calibrate`, as plain values.

struct CalibrateOptions {
    std::string out;  ///< file; empty: where `replay` looks
    std::optional<std::uint32_t> cpu;
    std::uint32_t engines = 1;  ///< or `engines_auto`
    bool quick = false;         ///< a tenth of the measurements and one rehearsal
    bool realtime = false;      ///< for replays with --realtime
    bool accept_noise = false;  ///< save what was measured while others had the CPU, too
};

/// Options to run with, or an exit code after help or a refusal was printed.
struct ParsedCalibrate {
    std::optional<int> exit_code;
    CalibrateOptions options;
};

ParsedCalibrate parse_calibrate_options(int argc, char** argv);

// Advice: what a person can do about what `calibrate` found, one line each; and the settings of a
// host that it judges, as `doctor` does.

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
