/// The two clocks at time 0, as run.json has them. Reads clocks; keeps nothing.
#pragma once

#include "engine/history/run_facts.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

/// The tightest of a few bracketed readings (timing-and-io.md, B.1).
ClockAnchors anchor(Instant zero);

}  // namespace driftless
