/// ArmedTable: requests whose every byte is ready and that were not taken, found by their number.
/// Its size is fixed, so that all of its memory is taken before the first fire. Owned by the armer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/schedule/due.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

/// A request as it will be sent. `storage` belongs to the pool; whoever holds the request gives it
/// back when the kernel has accepted the last byte.
struct ArmedRequest {
    Due due;  ///< which one it is
    char* storage = nullptr;
    std::string_view bytes;  ///< head and body
    Instant armed;
    /// TLS: number of the connection that its bytes are sealed for. That connection has the
    /// storage then, and no other can take the request.
    std::uint32_t lane = no_lane;

    static constexpr std::uint32_t no_lane = 0xFFFF'FFFFu;
};

class ArmedTable {
  public:
    /// `room`: requests at most, a power of two.
    explicit ArmedTable(std::uint32_t room);

    bool full() const { return free_ == none; }
    std::uint32_t count() const { return count_; }

    /// A request that is not there. The table is not full.
    void put(const ArmedRequest& armed);
    /// nullptr where it is not there.
    ArmedRequest* find(std::uint32_t request);
    /// It is there.
    ArmedRequest take(std::uint32_t request);
    /// Any of them, in no order. There is one.
    ArmedRequest take_any();

  private:
    static constexpr std::uint32_t none = 0xFFFF'FFFFu;
    struct Slot {
        ArmedRequest armed;
        std::uint32_t next = none;  ///< in its chain, or of the free ones
    };

    std::uint32_t& link_to(std::uint32_t request);

    std::vector<std::uint32_t> chains_;  ///< [room] first slot of the requests with that remainder
    std::vector<Slot> slots_;            ///< [room]
    std::uint32_t free_ = none;          ///< used last: its memory is in the caches
    std::uint32_t count_ = 0;
    std::uint32_t sweep_ = 0;  ///< chains before it were empty when `take_any` passed them
};

}  // namespace driftless
