/// OpEntries: how operations are written for an io_uring, and how the buffer of a receive is read.
/// It owns what entries point to beside the operation itself; it knows no ring, and enters nothing.
///
/// Owned by the UringDriver; lives until the kernel has taken the entries.
#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <cstdint>
#include <string_view>

#include "engine/io/op.hpp"

namespace driftless {

/// What a receive with kernel stamps has brought.
struct StampedBytes {
    std::string_view bytes;        ///< the payload; may be empty
    std::int64_t realtime_ns = 0;  ///< the kernel's stamp, CLOCK_REALTIME; 0: none
};

class OpEntries {
  public:
    OpEntries();

    /// Writes an operation; `target` is the user_data of what a cancel ends. CHECKs that the
    /// operation has what its kind needs, and that it is none on stamps: those go to
    /// TransmitStamps. The user_data of the entry is the caller's.
    void fill(io_uring_sqe& entry, const OpSpec& spec, std::uint64_t target);
    /// Asks when a socket has room, instead of sending.
    static void fill_wait_for_room(io_uring_sqe& entry, Socket socket);

    /// Where the kernel finds the buffers of receives (BufferRing).
    static constexpr std::uint16_t buffer_group = 1;

  private:
    msghdr stamped_receive_{};  ///< what a receive with stamps looks like; the kernel copies it
};

/// Reads a buffer that a receive with kernel stamps has filled: it begins with a header and the
/// control message. CHECKs that it is as long as those.
StampedBytes read_stamped(std::string_view filled);

}  // namespace driftless
