/// Calibration: what this host was measured to promise, as plain values, and its JSON.
///
/// Made by `driftless calibrate` (engine/machines measures, cmd/host rehearses), kept in one
/// file per user, read by `replay` as the floor that its verdict compares with. Every limit of a
/// verdict is a ratio to one of these figures. Times in ns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/cpu_load.hpp"
#include "engine/host/host.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/taint.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// Version of the keys of a calibration file. Another one is not read: calibrate again.
inline constexpr int calibration_schema = 1;

/// What is kept of many measured times. All 0 where `count` is 0.
struct Spread {
    std::uint64_t count = 0;
    std::int64_t p50_ns = 0;
    std::int64_t p99_ns = 0;
    std::int64_t p999_ns = 0;
    std::int64_t max_ns = 0;
};

/// One replay against the bundled mock: so many streams at 50 chunks a second each.
struct Rehearsal {
    std::uint32_t streams = 0;
    std::int64_t chunks_asked = 0;  ///< per second
    std::int64_t chunks = 0;        ///< received in the second that was looked at, by all engines
    double busy_share = 0;          ///< of the busiest engine's thread in that second
    Spread drift;                   ///< of all rows, one row per instant
    Spread receive_delay;    ///< upper bound of each row; `count` 0 where no row was answered
    bool lost = false;       ///< the event ring was full, or the kernel ran out of buffers
    double taken_share = 0;  ///< of that second, by others: run-queue delay and steal
};

/// What a run's engines are, and must have been while its host was measured.
struct EngineSetup {
    bool realtime = false;      ///< they go before ordinary threads
    std::uint32_t engines = 1;  ///< at once; `engines_auto`: not decided yet
    std::string driver = {};    ///< "io_uring" or "epoll"; empty: not decided yet
};

struct Calibration {
    std::string date;  ///< UTC, "2026-11-21T03:45:12Z"
    // Which host it holds for.
    std::string kernel;
    std::string cpu_model;
    std::uint32_t cpus_online = 0;
    std::uint32_t engine_cpu = 0;  ///< of the first engine
    /// Engines that were measured together. Figures of threads are those of the worst of them.
    std::uint32_t engines = 1;
    /// Its engines ran before all ordinary threads; only what spins was ordinary.
    bool realtime = false;
    std::string driver = "io_uring";  ///< what moved its bytes: "io_uring" or "epoll"

    // A thread that does nothing else: lateness against its instant, by policy of waiting.
    Spread wake_spin;
    Spread wake_hybrid;
    Spread wake_sleep;
    // A thread that only looks at the clock.
    double spin_gaps_per_s = 0;  ///< above 20 us
    std::int64_t spin_gap_max_ns = 0;
    double spin_lost_share = 0;  ///< of the time, in those gaps
    // One request handed to the kernel, over loopback.
    Spread fire_small;  ///< 300 bytes
    Spread fire_large;  ///< 16 KiB, the most that a fire hands over at once

    std::vector<Rehearsal> rehearsals;
    /// Chunks per second, of all engines, at which the busiest engine's thread is 60 % busy.
    std::int64_t chunks_per_s_max = 0;
    /// The rehearsals did not come near 60 %: the figure above is drawn on from the last of them.
    bool chunks_extrapolated = false;

    std::uint64_t file_limit = 0;
    std::uint32_t connections_max = 0;  ///< to one server: descriptors and ports
    double steal_share = 0;             ///< of the engine's CPU while calibrating
    double run_delay_share = 0;         ///< of the time, ready and waiting for the CPU
};

/// Above such a share of the engine's CPU in other hands a host is busy with other work: its
/// figures then describe the other programs, not the host. Ticks, interrupts and the kernel's own
/// threads take less than 1 %.
inline constexpr double noise_max = 0.03;

/// The largest share of the CPU that others had, by all that was looked at: steal, run-queue delay,
/// gaps of a spin, and the rehearsals.
double taken_share(const Calibration& calibration);
/// What says that others were at work while this was measured, a clause each; none on a quiet host.
std::vector<std::string> noise_of(const Calibration& calibration);

std::string to_json(const Calibration& calibration);

/// Errors: bad_json, missing (a key), unsupported (another schema).
Result<Calibration> read_calibration(JsonDocument& document, std::string_view text);

/// Why these figures do not hold for a host ("it was made on another kernel: .."), for another
/// number of engines, another driver, or for engines among ordinary threads; empty where they do.
/// What an ordinary thread has promised holds for one that goes before those.
std::string why_not_of(const Calibration& calibration, const HostFacts& host,
                       const EngineSetup& run);

/// The drift that this host shows where nothing is wrong: the p99 of a thread that merely sleeps,
/// or the median p99 of the rehearsals up to this many chunks a second, whichever is larger.
std::int64_t drift_floor_ns(const Calibration& calibration, std::int64_t chunks_per_s);
/// How long bytes of an answer wait for us at most (the record's `receive_delay_ns`), as the median
/// p99 of those rehearsals; 0 where none has measured it.
std::int64_t receive_floor_ns(const Calibration& calibration, std::int64_t chunks_per_s);

/// A limit is this many times what calibration saw at p99.
inline constexpr std::int64_t limit_ratio = 10;
/// For a run that asks for about this many chunks a second.
TaintLimits taint_limits(const Calibration& calibration, std::int64_t chunks_per_s,
                         const CertifyWithin& within);

}  // namespace driftless
