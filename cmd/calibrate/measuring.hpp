/// Measuring: what `driftless calibrate` and a replay without a calibration do to know their host.
/// Runs on the calling thread, which is pinned as the engine will be, and on one for each further
/// engine; prints nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/calibration.hpp"
#include "engine/host/host.hpp"
#include "engine/time/instant.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
