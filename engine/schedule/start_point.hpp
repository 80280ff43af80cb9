/// StartPoint: a tree that is entered inside its recording, as a server would have met it there:
/// what is over by then, what goes out before, so that the server knows each conversation that goes
/// on, and what is still to come, and when. A pure function; takes memory, reads no clock.
///
/// The place is seeded: the same for a tree and a seed, however many users there are. Of each
/// session that has turns before it and turns behind it, the last one before is its primer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/turn_graph.hpp"
#include "engine/schedule/user_rules.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// A row of a tree that was entered.
struct EnteredRow {
    std::uint32_t position = 0;  ///< in the plan
    bool primes = false;         ///< it goes out in the warm-up
    bool starts = false;         ///< it waits for the begin of the measurement, too
    std::uint32_t parents = 0;   ///< rows that it waits for, primers among them
    /// Of a primer: so long it was sent before the place. Of one that starts: behind it. Divided by
    /// the speed.
    std::int64_t distance_ns = 0;
};

struct StartPoint {
    /// In the order of the plan; those that are over by then are not among them.
    std::vector<EnteredRow> rows;
    std::int64_t place_ns = 0;  ///< in the recording, behind the tree's first row
};

/// What bounds the distances; divided by the speed. `none`: 0 for all of them (`--gap none`).
struct StartBounds {
    std::optional<std::int64_t> lead_max_ns;  ///< of primers
    std::optional<std::int64_t> wait_max_ns;  ///< of rows that start
};

/// `rows` are those of the tree, in the order of the plan. `seed` is that of this playing.
StartPoint enter(const Trace& trace, const Plan& plan, const TurnGraph& graph,
                 std::span<const std::uint32_t> rows, const StartRules& rules,
                 const StartBounds& bounds, std::uint64_t seed);

}  // namespace driftless
