/// LaneShelf: the idle lanes of a run: which one a row takes, whose connection it is, and which has
/// stood idle for so long that its server may be about to close it. It opens and closes nothing,
/// and reads no clock. Owned by the pool, whose lanes outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/replay/idle_limit.hpp"
#include "engine/replay/lane.hpp"

namespace driftless {

/// What a row asks of its lane.
struct LaneWish {
    bool fresh = false;                  ///< no exchange has used it
    std::uint32_t session = no_session;  ///< that of this session, where it is idle
    bool last = false;                   ///< no row of the session comes after this one
    Duration lead{0};                    ///< it will be used after so long
};

class LaneShelf {
  public:
    /// `sessions`: how many can come up in wishes; 0 where none keeps a connection.
    LaneShelf(std::size_t targets, std::size_t sessions);

    /// The lane has become idle; `idle_since` is set.
    void put(Lane& lane);
    /// ... and leaves, to a row or for good.
    void remove(Lane& lane);

    /// The lane that a row with this wish would take; nullptr where there is none. None that its
    /// server may be closing by then; that of another session only where there is no other.
    Lane* find(std::uint32_t target, const LaneWish& wish, Instant now) const;

    struct Claim {
        ConnectionState state = ConnectionState::fresh;
        /// On the shelf, and its session has no further row: to be closed.
        Lane* unwanted = nullptr;
    };
    /// The lane, taken off the shelf before, goes to a row with this wish. A session keeps its
    /// first connection for as long as that stands, busy or not, and gives it up with its last row.
    Claim claim(Lane& lane, const LaneWish& wish);
    /// From here on the lane is anybody's.
    void disown(Lane& lane);

    /// Begins to replace the oldest lane that its server may soon close; false where there is none.
    bool age(std::uint32_t target, Instant now);
    /// A lane that may not be used any more; nullptr where there is none.
    Lane* over(std::uint32_t target, Instant now) const;
    /// The oldest of those that are being replaced; nullptr where there is none.
    Lane* oldest_ageing(std::uint32_t target) const { return at(target).ageing.last; }
    /// The one that can best be spared: ageing ones first, those of sessions last.
    Lane* oldest(std::uint32_t target) const;

    /// All idle lanes to the target.
    std::uint32_t count(std::uint32_t target) const {
        const Idle& idle = at(target);
        return idle.young.count + idle.ageing.count + idle.owned.count;
    }
    std::uint32_t count() const;  ///< of all targets
    std::uint32_t young(std::uint32_t target) const { return at(target).young.count; }
    std::uint32_t ageing(std::uint32_t target) const { return at(target).ageing.count; }

    /// How long the target's server lets a connection stand idle.
    IdleLimit& limit(std::uint32_t target) { return targets_[target].limit; }
    const IdleLimit& limit(std::uint32_t target) const { return at(target).limit; }
    IdleLimit shortest_limit() const;  ///< of all targets

  private:
    /// Each youngest first: the least likely to be stale.
    struct Idle {
        LaneList young;
        LaneList ageing;  ///< idle for so long that they are being replaced
        LaneList owned;   ///< of a session that goes on
        IdleLimit limit;
    };
    /// Where a session is at home.
    struct Home {
        Lane* lane = nullptr;  ///< null: none yet, or it has ended
        bool had = false;
    };

    const Idle& at(std::uint32_t target) const { return targets_[target]; }
    Lane* find_any(std::uint32_t target, bool fresh) const;
    Lane* find_owned(std::uint32_t target, std::uint32_t session) const;
    Lane* home_of(std::uint32_t session) const;

    std::vector<Idle> targets_;
    std::vector<Home> homes_;  ///< [sessions]
};

}  // namespace driftless
