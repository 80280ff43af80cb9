/// LaneTls: what a lane has on top of its connection where that speaks TLS. Plain state; the parts
/// of the lanes change it (connecting.hpp, sealing.hpp).
///
/// A request's records belong to one connection, so that a TLS lane is bound to its row as soon as
/// the row is armed, and every byte of it is encrypted before it is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/time/instant.hpp"
#include "engine/tls/stream.hpp"
#include "engine/underway/row_underway.hpp"

namespace driftless {

struct LaneTls {
    TlsStream stream;
    std::string sending;          ///< bytes of TLS itself, untouched while the kernel has them
    std::uint32_t own_bytes = 0;  ///< that the handshake has sent
    char* plain = nullptr;        ///< room for one record's plain bytes; shared, the pool's
    Instant step_wanted;          ///< since when the handshake waits for its next step
    bool in_steps = false;        ///< on the list of handshakes

    RowUnderway* row = nullptr;  ///< of a bound lane; it keeps its storage
    std::size_t plain_done = 0;  ///< bytes of its request that are in records
    std::size_t sealed = 0;      ///< bytes of records so far
    bool ready = false;          ///< all are in records
    bool spoiled = false;        ///< records were made that have not been sent
    bool late = false;           ///< the row is due: it is fired as soon as it is ready
};

}  // namespace driftless
