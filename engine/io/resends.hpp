/// Resends: what TCP has sent again on a socket, as the kernel counts it. One system call; keeps
/// nothing.
#pragma once

#include <optional>

#include "engine/io/driver.hpp"

namespace driftless {

/// By TCP_INFO: `tcpi_total_retrans`, `tcpi_unacked` and `tcpi_dsack_dups` (Linux 4.19). None where
/// the socket is not TCP.
std::optional<ResendCounts> read_resends(Socket socket);

}  // namespace driftless
