/// When users begin, where they have no warm-up: within the ramp. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/schedule/user_rules.hpp"

namespace driftless {

/// Of the users that begin by themselves, when each does, from time 0: spread evenly over the ramp,
/// each at a seeded place in its part of it, the first at 0. Drawn for those of all processes, so
/// that each begins as it would if one process played them all.
std::vector<std::int64_t> user_begins(const UserRules& rules);

}  // namespace driftless
