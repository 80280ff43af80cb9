/// Progress: how far a run is, for whoever shows it. A value; made by the writer five times a
/// second, never by the engine.
#pragma once

#include <cstdint>

namespace driftless {

struct Progress {
    std::int64_t elapsed_ns = 0;  ///< since time 0; negative before it
    std::int64_t left_ns = 0;     ///< until the last row is due
    std::uint64_t rows = 0;
    std::uint64_t fired = 0;
    std::uint64_t ended = 0;
    std::uint64_t inflight = 0;
    std::uint64_t failed = 0;
    double tokens_per_s = 0;        ///< since the previous one
    std::int64_t drift_max_ns = 0;  ///< so far, rows held back by `--max-inflight` left out
};

/// Called on the writer's thread.
struct ProgressCallback {
    void (*call)(void* owner, const Progress& progress) = nullptr;
    void* owner = nullptr;
};

}  // namespace driftless
