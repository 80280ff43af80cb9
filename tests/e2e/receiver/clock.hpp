/// Clocks of the receiver: CLOCK_MONOTONIC, and the kernel's receive stamps put on it.
///
/// The receiver shares no code with the product, this file included: a fault in one cannot hide the
/// same fault in the other.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace receiver {

/// CLOCK_MONOTONIC in ns.
std::int64_t monotonic_ns();
/// CLOCK_REALTIME minus CLOCK_MONOTONIC, from the narrowest of three bracketed readings.
std::int64_t realtime_offset();
/// Sleeps until that instant of CLOCK_MONOTONIC.
void sleep_until(std::int64_t ns);

/// What one read of a socket gave.
struct Received {
    ssize_t bytes = 0;            ///< 0 at the end of the stream, -1 on an error
    std::int64_t arrival_ns = 0;  ///< CLOCK_MONOTONIC
    bool from_kernel = false;     ///< false: no stamp came, the time of the return from the call
};

/// recvmsg with SO_TIMESTAMPNS (enabled by `stamp_arrivals`). The kernel's stamp is CLOCK_REALTIME;
/// the offset between the clocks is sampled with every read, so a step of the clock harms one.
/// Of segments that the kernel joined, the stamp is the last one's: never too early.
/// `flags` are those of recvmsg.
Received receive(int socket, char* out, std::size_t bytes_max, int flags = 0);

/// The kernel's stamps of what was sent, one for each write: when its last byte left for the wire,
/// by CLOCK_MONOTONIC. TCP may keep bytes back long after the write.
struct Departure {
    std::uint32_t last_byte = 0;  ///< its place among all bytes of the socket, from 0
    std::int64_t left_ns = 0;
};

/// Asks the kernel for them. Of a socket that has sent nothing yet.
void stamp_departures(int socket);
/// Those that are there; waits for none.
void read_departures(int socket, std::vector<Departure>& out);

/// Asks the kernel to stamp what arrives. On a listening socket, accepted ones inherit it.
void stamp_arrivals(int socket);

}  // namespace receiver
