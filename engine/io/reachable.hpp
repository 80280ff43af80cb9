/// Which of a name's addresses takes connections: IPv4 and IPv6 race for it (RFC 8305). System
/// calls of its own, before time 0 only; a run then keeps to the one that was found.
#pragma once

#include <optional>
#include <vector>

#include "engine/io/address.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

/// In the resolver's order, but families take turns, so that a family that leads nowhere costs one
/// attempt (RFC 8305, 4).
std::vector<Address> by_turns(const std::vector<Address>& addresses);

/// The first to take a connection, which is closed again. They are tried in this order: the next
/// one when those before have failed, or after `attempt_delay`, while they go on. Empty where none
/// does within `patience` of the last one's start. Blocks.
std::optional<Address> first_reachable(const std::vector<Address>& addresses, Duration patience);

/// RFC 8305, 5 recommends it.
inline constexpr Duration attempt_delay = milliseconds(250);
/// Of one name. Others are not tried.
inline constexpr std::size_t attempts_max = 16;

}  // namespace driftless
