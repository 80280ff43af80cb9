/// Kernel constants that liburing 2.3 (Debian 12) does not know yet. Values are kernel ABI
/// (include/uapi/linux/io_uring.h); each is probed before use.
#pragma once

#include <cstdint>

namespace driftless::uring_flags {

inline constexpr unsigned enter_abs_timer = 1u << 5;  ///< 6.12: the wait's timeout is absolute
inline constexpr unsigned enter_no_iowait = 1u << 7;  ///< 6.15: a waiting ring is no iowait
inline constexpr std::uint32_t feature_min_timeout = 1u << 15;  ///< 6.12
inline constexpr std::uint32_t feature_no_iowait = 1u << 17;    ///< 6.15
inline constexpr unsigned socket_transmit_stamps = 4;           ///< 6.17: command of a socket
inline constexpr unsigned setup_no_sqarray = 1u << 16;          ///< 6.6

}  // namespace driftless::uring_flags
