/// Reading: takes what has come, in slices, and the work that goes with it: the coroutines that it
/// wakes, deadlines, the rest of large bodies, transmit stamps. It says when reading must go before
/// what is due, and when everything else must get a turn. Owned by the run.
#pragma once

#include <cstdint>

#include "engine/io/loop.hpp"
#include "engine/replay/lanes.hpp"

namespace driftless {

class Reading {
  public:
    Reading(Driver& driver, Loop& loop, Lanes& lanes)
        : driver_(driver), loop_(loop), lanes_(lanes), suspended_ns_(driver.suspended_ns()) {}

    /// Something may have been waiting for too long, and what is due has had its half of the time.
    /// Asked at the beginning of each turn of the loop.
    bool is_overdue(Instant now);
    /// A slice went before what was due: it took until `to`.
    void note_first(Instant from, Instant to);

    /// Lanes whose answers were read are done with: rows find them. False where there were none.
    bool settle();
    /// Something has come, and the last slice has left it for the next one.
    bool has_more() const { return has_more_; }
    /// When the turn began in which somebody looked last for what has come.
    Instant looked() const { return looked_; }
    /// Completions and the coroutines that they wake. False where there were none.
    bool slice();
    /// A slice, and behind it what is late: the rest of a large body, or deadlines. Nothing that is
    /// long begins within `guard` of `due`. False where there was nothing to do.
    bool step(Instant now, Instant due, Duration guard);
    /// Behind a step that has read: all other work gets a turn now. Not where a row may be due for
    /// an answer that was just read.
    bool gives_way();
    /// Transmit stamps that have come; false where there are none, or `due` is too close.
    bool collect_stamps(Instant now, Instant due, Duration guard);

  private:
    void note_suspension();
    std::size_t resume();

    Driver& driver_;
    Loop& loop_;
    Lanes& lanes_;
    Instant unread_since_;  ///< of the driver, when the turn began
    Instant read_again_;    ///< no read goes before what is due until then
    bool has_more_ = false;
    Instant began_;  ///< the turn
    Instant looked_;
    bool last_was_first_ = false;  ///< one that did: a turn for all else comes next
    std::uint32_t receives_ = 0;   ///< since a look found nothing to read
    /// Receive count at which unsent parts of large bodies get a turn.
    std::uint32_t rest_after_ = 0;
    std::uint32_t others_after_ = 0;  ///< receive count at which all other work gets a turn
    std::int64_t suspended_ns_;       ///< of the host, so far
};

}  // namespace driftless
