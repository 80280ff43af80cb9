/// WireStamps: kernel transmit stamps of lanes: armed with the connection, matched to the exchange
/// by their byte, asked for before a row ends, cancelled with the connection. Owned by the pool.
#pragma once

#include <cstdint>

#include "engine/replay/lane.hpp"
#include "engine/replay/lane_parts.hpp"

namespace driftless {

class WireStamps {
  public:
    explicit WireStamps(LaneParts& parts) : parts_(parts) {}

    /// Right after the connect: keys count the bytes from here.
    void arm(Lane& lane);
    void disarm(Lane& lane);
    /// Takes stamps that have come, at most `stamps_max`; false where there are none.
    bool collect();
    /// The row is about to end: its stamp is taken now, or never.
    void take_own(Lane& lane);
    /// A stamp of this lane has come.
    void take(Lane& lane, const Completion& done);

    /// 0.2 us each by io_uring, 0.6 us by the error queues (macro_bench kernel-stamps).
    static constexpr std::uint32_t stamps_max = 16;

  private:
    LaneParts& parts_;
};

}  // namespace driftless
