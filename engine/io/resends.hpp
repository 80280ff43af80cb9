/// Resends: what TCP has sent again on a socket, as the kernel counts it. One system call; keeps
/// nothing.
#pragma once

#include <optional>

#include "engine/io/driver.hpp"

namespace driftless {

/// Segments, by `tcpi_total_retrans` of TCP_INFO. None where the socket is not TCP.
std::optional<std::uint32_t> read_resends(Socket socket);

}  // namespace driftless
