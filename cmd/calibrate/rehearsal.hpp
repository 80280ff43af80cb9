/// Rehearsals: short replays of a made-up trace against the bundled mock, each in processes of its
/// own, as a user would run them. They show what the whole of the client can take: rings, parsing,
/// records and all. Files go to a temporary folder that is gone afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/calibrate/measuring.hpp"
#include "engine/host/calibration.hpp"
#include "engine/host/child.hpp"

namespace driftless {

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
