/// What the kernel stamps below us, as sockets give it: a transmit stamp when the driver of the
/// interface takes a packet, a receive stamp when one comes in. TCP only; a Unix socket has no
/// packets. Times here are CLOCK_REALTIME, as the kernel has them. Free functions over sockets,
/// which keep nothing and never block, and one socket of our own.
#pragma once

#include <sys/socket.h>
#include <time.h>

#include <cstdint>

#include "engine/io/op.hpp"

namespace driftless {

/// Which stamps there are.
struct StampSupport {
    bool transmit = false;
    bool receive = false;
};

/// Asks the kernel for the stamps in `wanted`; says which there will be. For a socket that has just
/// been connected: transmit stamps are keyed by the bytes sent from here on, and a socket that is
/// not connected refuses (Linux SO_TIMESTAMPING, OPT_ID on TCP).
StampSupport switch_on_stamps(Socket socket, StampSupport wanted);

/// The kernel's transmit stamp of the packet whose last byte is number `key` of all bytes sent
/// since the stamps were switched on, from 0, modulo 2^32.
struct TransmitStamp {
    std::uint32_t key = 0;
    std::int64_t realtime_ns = 0;
};

/// Takes one entry off the socket's error queue. False where it is empty. An entry that is no stamp
/// (an ICMP error) has `realtime_ns` 0.
bool read_error_queue(Socket socket, TransmitStamp& stamp);

/// Room for the control message of a receive stamp: three times of which the first is ours.
inline constexpr std::size_t receive_control_bytes = CMSG_SPACE(3 * sizeof(timespec));

/// The receive stamp in a control message, 0 where there is none.
std::int64_t receive_stamp_ns(msghdr& message);

/// A socket that asks for receive stamps as long as it lives. The kernel stamps packets only while
/// somebody asks, and begins some time after the first one did: this one asks from the start.
class StampKeeper {
  public:
    StampKeeper() = default;
    ~StampKeeper();
    StampKeeper(const StampKeeper&) = delete;
    StampKeeper& operator=(const StampKeeper&) = delete;

    /// False where it cannot be had.
    bool open();
    bool is_open() const { return socket_.open(); }

  private:
    Socket socket_;
};

}  // namespace driftless
