/// LaneTls: what a lane has on top of its connection where that speaks TLS, and DueRow: a row on
/// its way to a lane. Plain state; whoever owns the lane (LanePool) or the row (Pacer) changes it.
///
/// A request's records belong to one connection, so that a TLS lane is bound to its row as soon as
/// the row is armed, and every byte of it is encrypted before it is due.
#pragma once

#include <cstdint>
#include <string>

#include "engine/prompt/arm.hpp"
#include "engine/time/instant.hpp"
#include "engine/tls/stream.hpp"
#include "proto/record/outcome.hpp"

namespace driftless {

/// What the kernel had to send again, over all tries of a row so far.
struct Resends {
    std::uint32_t segments = 0;  ///< of its request that were sent again
    bool known = false;
    bool lost = false;  ///< a part of the request, as far as is known
};

/// A row that waits to be fired: its bytes, and what has kept it so far.
struct DueRow {
    ArmedRequest request;  ///< `storage` null while its bytes are being built again
    std::int64_t held_ns = 0;
    LateCause cause = LateCause::lane;
    std::uint16_t tries = 0;   ///< stale retries so far
    std::uint16_t losses = 0;  ///< connections that ended young, bound to it
    Instant taken;             ///< its turn came; it is late where it did not leave then
    Instant fired;             ///< of the first try
    Resends resends;           ///< of the tries so far
};

struct LaneTls {
    TlsStream stream;
    std::string sending;          ///< bytes of TLS itself, untouched while the kernel has them
    std::uint32_t own_bytes = 0;  ///< that the handshake has sent
    char* plain = nullptr;        ///< room for one record's plain bytes; shared, the pool's
    Instant step_wanted;          ///< since when the handshake waits for its next step
    bool in_steps = false;        ///< on the pool's list of handshakes

    DueRow row;                  ///< of a bound lane; its storage is the lane's
    std::size_t plain_done = 0;  ///< bytes of its request that are in records
    std::size_t sealed = 0;      ///< bytes of records so far
    bool ready = false;          ///< all are in records
    bool spoiled = false;        ///< records were made that have not been sent
    bool late = false;           ///< the row is due: it is fired as soon as it is ready
};

}  // namespace driftless
