/// Rehearsals: short replays of a made-up trace against the bundled mock, each in processes of its
/// own, as a user would run them. They show what the whole of the client can take: rings, parsing,
/// records and all. Files go to a temporary folder that is gone afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/calibration.hpp"

namespace driftless {

class Rehearsals {
  public:
    /// The engine of the replays runs on `engine_cpu`, before ordinary threads or among them; the
    /// mock on `mock_cpu`.
    Rehearsals(std::uint32_t engine_cpu, std::uint32_t mock_cpu, bool realtime)
        : engine_cpu_(engine_cpu), mock_cpu_(mock_cpu), realtime_(realtime) {}
    ~Rehearsals();
    Rehearsals(const Rehearsals&) = delete;
    Rehearsals& operator=(const Rehearsals&) = delete;

    /// Makes the folder and starts the mock. Errors: io_failed and those of processes.
    Result<void> open();
    /// One replay of so many streams, 50 chunks a second each; takes about 3.5 s. Errors: io_failed
    /// where the replay failed, or wrote nothing that can be read.
    Result<Rehearsal> run(std::uint32_t streams);

  private:
    Result<void> write_trace(const std::string& path, std::uint32_t streams) const;

    std::uint32_t engine_cpu_;
    std::uint32_t mock_cpu_;
    bool realtime_;
    std::string folder_;
    int mock_ = -1;  ///< process id
    std::string url_;
};

/// Chunks per second at which the engine would be `busy_share` busy: between two rehearsals, or
/// drawn on from the last one (`extrapolated`). 0 where nothing was measured.
struct Capacity {
    std::int64_t chunks_per_s = 0;
    bool extrapolated = false;
};
Capacity capacity_of(const std::vector<Rehearsal>& rehearsals, double busy_share);

}  // namespace driftless
