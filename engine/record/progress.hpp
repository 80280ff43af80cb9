/// Progress: how far a run is, for whoever shows it. A value; made by the writer five times a
/// second, never by the engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "proto/core/check.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct Progress {
    std::int64_t elapsed_ns = 0;  ///< since time 0; negative before it
    OptionalNs left_ns;           ///< until the last row is due; null: nobody knows when that is
    std::uint64_t rows = 0;       ///< of users: those that they have told of so far
    bool rows_open = false;       ///< users may send more, nobody knows how many
    std::uint64_t fired = 0;
    std::uint64_t ended = 0;
    std::uint64_t inflight = 0;
    std::uint64_t tokens = 0;       ///< as known so far
    std::int64_t drift_max_ns = 0;  ///< so far, rows held back by `--max-inflight` left out
    OptionalNs ttft_ns;             ///< median of the last `ttfts_kept` answers; null: none yet
    std::array<std::uint64_t, outcome_count> outcomes{};  ///< of the rows that have ended
};

/// What progress says of the records so far. Constant memory.
class ProgressTally {
  public:
    static constexpr std::size_t ttfts_kept = 64;

    void add(const Record& record) {
        CHECK(static_cast<std::size_t>(record.outcome) < outcome_count);
        ++outcomes_[static_cast<std::size_t>(record.outcome)];
        if (record.ttft_ns) {
            ttfts_[seen_++ % ttfts_kept] = *record.ttft_ns;
        }
    }
    void fill(Progress& progress) const {
        progress.outcomes = outcomes_;
        if (seen_ > 0) {
            std::array<std::int64_t, ttfts_kept> sorted = ttfts_;
            const auto end =
                sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, ttfts_kept));
            const auto middle = sorted.begin() + (end - sorted.begin() - 1) / 2;  // nearest rank
            std::nth_element(sorted.begin(), middle, end);
            progress.ttft_ns = *middle;
        }
    }

  private:
    std::array<std::uint64_t, outcome_count> outcomes_{};
    std::array<std::int64_t, ttfts_kept> ttfts_{};
    std::size_t seen_ = 0;
};

/// Called on the writer's thread.
struct ProgressCallback {
    void (*call)(void* owner, const Progress& progress) = nullptr;
    void* owner = nullptr;
};

}  // namespace driftless
