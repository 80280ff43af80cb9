/// RoomTimes: when one more row might have been in flight under `--max-inflight`.
///
/// A row that was due while there was room was not held back by the cap then, whatever filled the
/// places before it could leave: a process that was stopped comes back to a queue that fills them
/// all at once. Plain values of a fixed size; owned by the pacer.
#pragma once

#include <array>
#include <cstddef>

#include "engine/time/instant.hpp"

namespace driftless {

class RoomTimes {
  public:
    /// A fire has taken the last place.
    void fill(Instant at);
    /// A place has been free since then. It may have been before the latest fire, which took
    /// another one.
    void free(Instant since);
    /// For so long there was room between the two. Stretches of up to `unseen_max` do not count;
    /// of what was too long ago to be known all counts.
    Duration between(Instant from, Instant to) const;

    /// From the end of an answer to the next fire, where nothing is amiss: the loop may sleep for
    /// 0.5 ms, look after 0.1 ms more, and read for some 0.1 ms.
    static constexpr Duration unseen_max = milliseconds(1);
    /// Long stretches that are known. A row rarely waits through more than a few.
    static constexpr std::size_t stretches_max = 256;

  private:
    struct Stretch {
        Instant from;
        Instant to;
    };

    std::array<Stretch, stretches_max> known_{};  ///< the latest ones, in turn
    std::size_t count_ = 0;                       ///< of all that there ever were
    Stretch last_{Instant{}, never};              ///< ends with the next fill
    Instant unknown_until_;
};

}  // namespace driftless
