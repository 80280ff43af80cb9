/// LiveTrees: which trees (a root session and all its sub-agents) are live. A tree is live from the
/// fire of its first request until all of its requests have ended; gaps between its turns included.
/// A tree of a user is also over when the user's next one begins. Owned by the periods, and told of
/// every fire and every end in the order of the ring.
///
/// How much of a tree a user skips (`--start-within`) is not known here: such a tree, where no
/// other one follows it, is live to the end of the run.
///
/// Memory: 12 bytes a row, and 24 a user, or a tree where there are no users.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/row_trees.hpp"
#include "engine/schedule/due.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// How many trees more, or less, there are.
struct TreeChange {
    std::int32_t live = 0;
    std::int32_t flying = 0;  ///< with a request in flight
};

class LiveTrees {
  public:
    LiveTrees(const Trace& trace, const Plan& plan);

    TreeChange fired(const Due& due);
    TreeChange ended(const Due& due, bool had_left);

  private:
    /// The tree of a user, or one of those that have none.
    struct Played {
        std::uint64_t tree = 0;    ///< by `number_in_pass`
        std::uint32_t ended = 0;   ///< rows
        std::uint32_t flying = 0;  ///< requests in flight
        bool live = false;
    };

    std::uint32_t tree_of(const Due& due) const;
    Played& played(const Due& due);

    std::uint32_t rows_;  ///< of the plan: users send its rows under several numbers
    RowTrees trees_;
    std::vector<Played> played_;  ///< [users], or [trees] where there are none
};

}  // namespace driftless
