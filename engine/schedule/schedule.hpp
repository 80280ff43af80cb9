/// Schedule: who decides when each request of a run is sent.
///
/// Recorded instants are all known before time 0: the schedule is then a cursor over the plan. It
/// tells which request is next (`peek`, `take`), and those who prepare requests what is to come
/// within a horizon of theirs (`within`). It is told what left (`fired`) and what is over
/// (`ended`). It reads no clock, builds nothing and sends nothing; all instants are run time, in ns
/// from time 0. Used by the engine thread alone; the plan outlives it. A copy plays the same dues.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/plan/plan.hpp"
#include "engine/schedule/due.hpp"
#include "proto/core/check.hpp"

namespace driftless {

/// Who looks ahead. Each sees every due once, in the order in which they will be taken, at a pace
/// of its own.
enum class Lookahead : std::uint8_t {
    arming,      ///< makes the bytes of a request
    binding,     ///< gives it a connection over TLS
    connecting,  ///< counts the connections that will be needed
    guarding,    ///< counts the instants that other work must not run into
};
inline constexpr std::size_t lookahead_count = 4;

class Schedule {
  public:
    explicit Schedule(const Plan& plan);

    /// The request that goes next, due or not; nullptr where none is known. Until `take`.
    const Due* peek() const { return taken_ < rows_.size() ? &next_ : nullptr; }
    /// That request is on its way from here on, whatever becomes of it. There is one (`peek`).
    Due take();
    bool has_taken(const Due& due) const { return due.request < taken_; }

    /// The next request that this reader has not passed and that is not taken, where it is due up
    /// to `horizon_ns`, inclusive. Its rank is known when it is taken: 0 here.
    std::optional<Due> within(Lookahead reader, std::int64_t horizon_ns) const {
        const std::uint32_t at = place_of(reader);
        if (at >= rows_.size() || rows_[at].due_ns > horizon_ns) {
            return std::nullopt;
        }
        return Due{rows_[at].due_ns, at, rows_[at].row, 0};
    }
    /// The reader has done with the request that `within` has named.
    void pass(Lookahead reader, const Due& due);
    bool has_passed(Lookahead reader, const Due& due) const {
        return due.request < ahead_[static_cast<std::size_t>(reader)];
    }
    /// The reader sees this request and all behind it once more.
    void go_back(Lookahead reader, const Due& due);

    /// The request has left for the first time, not before it was due.
    void fired(const Due& due, std::int64_t at_ns);
    /// It has got its end, whether it had left or not.
    void ended(const Due& due);

    /// Requests that were not taken.
    std::uint32_t left() const { return static_cast<std::uint32_t>(rows_.size()) - taken_; }
    /// Every request was taken and has ended.
    bool over() const { return left() == 0 && ended_ == taken_; }
    /// Of the first request; there is one.
    std::int64_t first_due_ns() const;

  private:
    std::uint32_t place_of(Lookahead reader) const {
        return std::max(ahead_[static_cast<std::size_t>(reader)], taken_);
    }

    std::span<const Planned> rows_;
    Due next_;                 ///< of the row at `taken_`, where there is one
    std::uint32_t taken_ = 0;  ///< the cursor
    std::uint32_t fired_ = 0;
    std::uint32_t ended_ = 0;
    std::array<std::uint32_t, lookahead_count> ahead_{};  ///< first row that was not passed
};

}  // namespace driftless
