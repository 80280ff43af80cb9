/// Floors over plain blocking sockets, without anything of the product's engine.
#pragma once

#include <cstdint>
#include <string>

#include "engine/host/calibration.hpp"
#include "engine/io/sockets.hpp"

namespace driftless::perf {

/// One byte to a thread on `cpu` and back over loopback TCP, `rounds` times, 1 ms apart.
Spread round_trips(std::uint32_t rounds, std::uint32_t cpu);

/// CPU time of this thread, and wall time, for a backlog that was taken from `connections` plain
/// connections by recv and searched for line ends: `request` is sent on each, the server is given
/// `pause_ms` to fill the sockets, and everything is read until each peer closes.
struct Drained {
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;  ///< blank lines
    std::int64_t cpu_ns = 0;
    std::int64_t wall_ns = 0;
};
Drained drain_plainly(const Address& server, const std::string& request, std::uint32_t connections,
                      std::int64_t pause_ms);

}  // namespace driftless::perf
