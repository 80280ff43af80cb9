/// Who looks ahead in a schedule. Each sees every due once, in the order in which they will be
/// taken as far as that is known, at a pace of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace driftless {

enum class Lookahead : std::uint8_t {
    arming,      ///< makes the bytes of a request
    binding,     ///< gives it a connection over TLS
    connecting,  ///< counts the connections that will be needed
    guarding,    ///< counts the instants that other work must not run into
};
inline constexpr std::size_t lookahead_count = 4;

}  // namespace driftless
