/// What the bytes of an answer mean for timing and framing, and nothing more: heads, events and the
/// end of the message become entries of the event ring. No JSON, no allocation, no system call.
#pragma once

#include "engine/io/op.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/host_sleep.hpp"
#include "engine/replay/lane.hpp"

namespace driftless {

/// Per-second counts of the receiving side; owned by the health counters.
struct ReceiveCounts {
    std::int64_t receives = 0;
    std::int64_t bytes = 0;
    std::int64_t chunks = 0;
    std::int64_t coalesced_chunks = 0;
    std::int64_t dropped_payloads = 0;
    std::int64_t dropped_entries = 0;
    std::int64_t stamps_refused = 0;  ///< kernel stamps against what is possible
    std::int64_t delays = 0;          ///< receives with a kernel stamp
    std::int64_t delay_sum_ns = 0;    ///< over receives: at most so long their bytes waited for us
    std::int64_t delay_max_ns = 0;
};

/// Handles one completion of a busy lane's receive: bytes, the end of the stream, or an error. May
/// end the exchange (`lane.end`). Every event of this receive carries `done.stamp`.
/// `sleep`: the last one.
void read_answer(Lane& lane, const Completion& done, EventRing& ring, ReceiveCounts& counts,
                 const HostSleep& sleep);

inline constexpr int status_ok = 200;
/// A body that is no event stream (an error, a JSON answer) is passed on up to this size.
inline constexpr std::uint64_t whole_body_bytes_max = 64 * 1024;

}  // namespace driftless
