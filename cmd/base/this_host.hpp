/// This host: what it refuses, and the remedy, in one text for all commands; how it is measured, by
/// bare waits and fires and by rehearsals, and where the figures lie.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/host/calibration.hpp"
#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"

namespace driftless {

// What is printed if io_uring is not available: the cause, as far as the host shows it, and the
// remedy, in one text for all commands. Reads /proc once; prints nothing itself.

/// What forbids io_uring on this host, where that can be seen.
struct RingBars {
    bool filtered = false;    ///< a seccomp filter is on this process (/proc/self/status)
    int disabled = 0;         ///< kernel.io_uring_disabled: 0 no, 1 but for a group, 2 for all
    std::string kernel = "";  ///< its release, for kernels that are too old
    /// RLIMIT_MEMLOCK in KiB: the rings of an unprivileged process count as locked memory.
    /// Nothing: the limit is high enough.
    std::optional<std::uint64_t> locked_kib = {};
};

RingBars read_ring_bars();

/// One line without its end: why the ring, or whatever else of the host, could not be set up, and
/// what to do about it.
std::string ring_refusal(const Error& error, const RingBars& bars);

// What the kernel grants a driver of ours, asked by making one. For `--version`, `doctor` and
// `calibrate`; a replay notes the same of its own driver in run.json.

struct DriverProbe {
    DriverKind kind = DriverKind::automatic;  ///< what a replay would use; automatic: none works
    /// Name and value, as in run.json; empty where there is none.
    std::vector<std::pair<std::string, std::string>> features;
    /// Why it is not io_uring, or is none at all, and the remedy; empty: it is what was asked for.
    std::string refusal;

    /// The empty text where there is no such feature.
    std::string_view feature(std::string_view name) const;
    /// "registered ring, absolute wait; kernel stamps: io_uring, receive": what is granted.
    std::string text() const;
};

/// Makes a small one, and ends it.
DriverProbe probe_driver(DriverKind asked = DriverKind::automatic);

/// What `--cpu` says where a filter forbids to choose the CPU of a thread.
inline constexpr const char* pinning_remedy =
    "allow sched_setaffinity (in seccomp; of systemd SystemCallFilter=@resources)";
/// The message without the program's name; it names the CPUs that this process may use.
std::string pinning_refusal(std::uint32_t cpu, const Error& error);

/// What `--realtime` says where it is not granted.
inline constexpr const char* realtime_refusal =
    "--realtime: this user is not allowed to raise priorities; allow it (ulimit -r 50, or the "
    "capability CAP_SYS_NICE), or remove the flag";

enum class Grade : std::uint8_t {
    ok,
    warning,  ///< a replay runs, but less exactly, or less of it
    fault,    ///< a replay cannot run
};
template <>
inline constexpr auto closed_list<Grade> = name_list("ok", "warning", "fault");

/// One thing that was looked at on this host, what was found, and what to do about it. `doctor`
/// prints all of them, `calibrate` those that are not as they should be.
struct HostFinding {
    Grade grade = Grade::ok;
    const char* topic = "";  ///< "governor"; static storage
    std::string found;
    std::string remedy;  ///< one line; empty where all is well
};

// Where the figures of `driftless calibrate` lie, and how they are fetched. Shared by `calibrate`,
// which writes them, and `replay`, which compares with them.

/// $XDG_STATE_HOME/driftless/calibration.json, else ~/.local/state/driftless/calibration.json;
/// calibration-realtime.json, calibration-engines-2.json or
/// calibration-epoll-realtime-engines-2.json there, as `engines` says. Empty where neither variable
/// is set.
std::string default_calibration_path(const EngineSetup& engines);

/// Where a replay keeps what it measured itself of engines that were placed so ("hybrid-kept"), for
/// the next one that is placed alike. Empty where there is no home.
std::string kept_calibration_path(const EngineSetup& engines, const std::string& placed);

/// Writes the file, and the folders above it. Errors: those of the file system.
Result<void> save_calibration(const Calibration& calibration, const std::string& path);

/// For so many days after its date it is used again.
inline constexpr std::int64_t kept_days_max = 30;

/// The figures, or why there are none that hold for this host.
struct FoundCalibration {
    std::optional<Calibration> calibration;
    std::string why_not;      ///< a clause; empty where there are some
    bool unreadable = false;  ///< there is no such file, or it is not a calibration
};

/// Reads `path` and compares it with the host and the run. Empty `path`: the default; if a realtime
/// run has no file of its own there, the ordinary one. Prints nothing.
FoundCalibration find_calibration(const std::string& path, const HostFacts& host,
                                  const EngineSetup& run);

// Measuring: what `driftless calibrate` and a replay without a calibration do to know their host.
// Runs on the calling thread, which is pinned as the engine will be, and on one for each further
// engine; prints nothing.

/// How long each of the bare measurements is.
struct FloorPlan {
    Duration spin = milliseconds(1500);
    std::uint32_t wait_rounds = 1000;  ///< three waits of 1 ms each
    std::uint32_t fire_rounds = 600;   ///< two waits of 0.5 ms each
    Duration most = seconds(60);       ///< for the waits, and for the fires; a busy host takes long
};

/// Where the engines and all else run.
struct MeasuredHost {
    std::vector<std::uint32_t> engine_cpus;  ///< [engine], at least one; the first is the caller's
    std::vector<std::uint32_t> others;       ///< CPUs that the engines leave free; at least one
    std::vector<std::uint32_t> allowed;      ///< as they were before anything was pinned
    bool realtime = false;                   ///< engines go before ordinary threads
    DriverKind driver = DriverKind::automatic;  ///< of the engines; decided
    /// What replays of this host are told beside CPUs: `--scheduling` and `--writer-cpu` of the run
    /// that is to come; empty: they decide.
    std::vector<std::string> placement = {};
    const std::atomic<int>* stop = nullptr;  ///< more than 0 ends the measuring; null: nothing does

    bool stopped() const { return stop != nullptr && stop->load() > 0; }
    std::uint32_t engines() const { return static_cast<std::uint32_t>(engine_cpus.size()); }
};

/// Now, of this host and kernel; nothing measured yet.
Calibration begin_calibration(const HostFacts& facts, const MeasuredHost& host);

/// Gaps, waits, fires, and what others took meanwhile, of all engines at once: the worst of them.
/// Errors: those of the ring, of sockets and of threads; cancelled.
Result<void> measure_floor(const FloorPlan& plan, const MeasuredHost& host, Calibration& out);

/// Before a replay: the floor and one rehearsal, in less than a second. If the rehearsal fails, it
/// is left out and `why_no_rehearsal` has the reason; otherwise that is empty. A stop ends it
/// within half a second. `wait`: name of the policy.
Result<void> measure_briefly(const MeasuredHost& host, const char* wait, Calibration& out,
                             std::string& why_no_rehearsal);

// Rehearsals: short replays of a made-up trace against the bundled mock, each in processes of its
// own, as a user would run them. They show what the whole of the client can take: rings, parsing,
// records and all. Files go to a temporary folder that is gone afterwards.

/// Streams begin within `begin_ms` and last 20 ms per chunk. They last longer than `begin_ms`, so
/// that for a while all of them are open.
struct RehearsalShape {
    std::uint32_t begin_ms = 800;
    std::uint32_t chunks_a_stream = 110;
};

class Rehearsals {
  public:
    /// The replays have as many engines as the host, the first on the CPU of the calling thread;
    /// they wait as `wait` says ("auto" or the name of a policy). The mock is on the first other
    /// CPU.
    Rehearsals(MeasuredHost host, RehearsalShape shape, const char* wait)
        : host_(std::move(host)), shape_(shape), wait_(wait) {}
    ~Rehearsals();
    Rehearsals(const Rehearsals&) = delete;
    Rehearsals& operator=(const Rehearsals&) = delete;

    /// Makes the folder and starts the mock. Errors: io_failed and those of processes.
    Result<void> open();
    /// One replay of so many streams, 50 chunks a second each; takes about 3.5 s, or as the shape
    /// says. Errors: io_failed where the replay failed, or wrote nothing that can be read.
    Result<Rehearsal> run(std::uint32_t streams);

  private:
    Result<void> write_trace(const std::string& path, std::uint32_t streams) const;

    Result<Child> start(const std::vector<std::string>& arguments, int output,
                        const std::string& messages) const;

    MeasuredHost host_;
    RehearsalShape shape_;
    std::string wait_;
    std::string folder_;
    std::optional<Child> mock_;
    std::string url_;
};

/// Chunks per second at which the busiest engine would be `busy_share` busy: interpolated between
/// two rehearsals, or extrapolated from the last one (`extrapolated`). 0: nothing was measured.
struct Capacity {
    std::int64_t chunks_per_s = 0;
    bool extrapolated = false;
};
Capacity capacity_of(const std::vector<Rehearsal>& rehearsals, double busy_share);

}  // namespace driftless
