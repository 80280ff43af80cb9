/// `driftless calibrate`: what this host can promise, in about 20 s; `driftless doctor`: what a
/// replay needs of this host, what is missing, and the remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "engine/host/calibration.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/host/host.hpp"

namespace driftless {

/// Runs `driftless calibrate`; `argv[0]` is its name. Returns the exit code (design, section 4).
int run_calibrate(int argc, char** argv);

struct CalibrateOptions {
    std::string out;  ///< file; empty: where `replay` looks
    std::optional<std::uint32_t> cpu;
    std::uint32_t engines = 1;  ///< or `engines_auto`
    bool quick = false;         ///< a tenth of the measurements and one rehearsal
    bool realtime = false;      ///< for replays with --realtime
    DriverKind driver = DriverKind::automatic;
    bool accept_noise = false;  ///< save what was measured while others had the CPU, too
};

struct CalibrateCommandLine : CommandLine {
    CalibrateOptions options;
};

CalibrateCommandLine parse_calibrate_options(const std::vector<std::string>& arguments);

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

/// Well, or a warning with its remedy.
HostFinding judged(bool well, const char* topic, std::string found, std::string remedy);
/// A finding for each setting, most useful first.
std::vector<HostFinding> judge_settings(const HostSettings& settings);

/// What a person can do, one line each: about what `calibrate` measured, then about those settings
/// that are not as they should be.
std::vector<std::string> advice_of(const Calibration& calibration, const HostSettings& settings);

/// Runs `driftless doctor`; `argv[0]` is its name. Returns the exit code: 7 where a replay cannot
/// run.
int run_doctor(int argc, char** argv);

struct DoctorOptions {
    std::string folder = "runs";  ///< where runs will be written
    std::optional<std::uint32_t> cpu;
    bool json = false;
};

struct DoctorCommandLine : CommandLine {
    DoctorOptions options;
};

DoctorCommandLine parse_doctor_options(const std::vector<std::string>& arguments);

/// How the kernel ranks this process; a replay that is started here inherits it.
struct SchedulingClass {
    int policy = 0;  ///< SCHED_OTHER, ..
    int nice = 0;
};

/// Which interfaces are up.
enum class Network : std::uint8_t { none, loopback, more };

/// A replay has up to so many threads: engine, writer, events, metrics, resolver, a hook, ..
inline constexpr std::uint32_t threads_needed = 8;
/// ... and without events so many beside its engine. Measured by a group's limit of tasks.
inline constexpr std::uint32_t threads_least = 2;

/// What `doctor` reads of this host, so that judging it needs no host. 0 or empty: cannot be read
/// here.
struct HostReadings {
    HostFacts facts;
    DriverProbe driver;
    HostSettings settings;
    CpuChoice engine_cpu;
    std::string cannot_pin;      ///< why no thread can be given a CPU; empty: it can
    double engine_cpu_busy = 0;  ///< share of the last 100 ms, before a replay is there
    std::uint64_t lockable_bytes = UINT64_MAX;  ///< UINT64_MAX: all
    CgroupLimits cgroup;
    std::uint32_t threads_started = threads_needed;  ///< of so many that were tried
    std::uint64_t address_space_bytes = UINT64_MAX;  ///< `ulimit -v`, -d; UINT64_MAX: not limited
    std::uint64_t file_bytes_max = UINT64_MAX;       ///< `ulimit -f`; UINT64_MAX: not limited
    SchedulingClass scheduling;
    Network network = Network::more;
    ClockSource clock;
    std::vector<Interface> interfaces;
    std::uint32_t port_reuse = 0;        ///< net.ipv4.tcp_tw_reuse
    std::int64_t receive_bytes_max = 0;  ///< last of net.ipv4.tcp_rmem
    std::int64_t send_bytes_max = 0;     ///< last of net.ipv4.tcp_wmem
    std::uint64_t memory_available = 0;
    std::string folder;
    std::string folder_refusal;  ///< why no run can be written there; empty: it can
    std::uint64_t folder_bytes_free = UINT64_MAX;
    std::uint64_t folder_files_free = UINT64_MAX;
    std::string calibration_date;  ///< of the figures that hold for this host; empty: none
    std::string why_no_calibration;
};

/// Takes 100 ms, in which it looks at how busy the CPUs are.
HostReadings read_host(const DoctorOptions& options);

/// What `doctor` says: every topic in a fixed order, also those that are well. A finding that is
/// not has a remedy. Pure.
std::vector<HostFinding> judge_host(const HostReadings& host);

}  // namespace driftless
