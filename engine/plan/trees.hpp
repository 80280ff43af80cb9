/// Trees: sessions that belong together because rows of one wait for rows of another, as a session
/// and its sub-agents do. Pure; the trace is only read.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// [session] the session that its tree is named after: the first of the tree in `Trace::sessions`,
/// which readers give to the conversation before its sub-agents.
std::vector<std::uint32_t> roots_of_sessions(const Trace& trace);

/// [session] the session that has spawned it: the one of a row that its first row waits for; of
/// several the first in `Trace::sessions`. `no_session` for the root of a tree, and for a session
/// whose first row waits for none.
std::vector<std::uint32_t> parents_of_sessions(const Trace& trace);

}  // namespace driftless
