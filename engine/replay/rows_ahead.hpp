/// RowsAhead: what the schedule has in store: how many rows each server gets within a second, how
/// close the next ones follow each other, and which row is the last of its session. Whoever takes a
/// row from the schedule takes it here. Owned by the pacer.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/prompt/arm.hpp"
#include "engine/replay/lane_shelf.hpp"
#include "engine/schedule/schedule.hpp"

namespace driftless {

class RowsAhead {
  public:
    /// `sticky`: sessions keep their connections.
    RowsAhead(const Trace& trace, Schedule& schedule, const Armer& armer, std::size_t targets,
              bool sticky);

    /// The schedule's next row, whose turn has come. There is one.
    Due take();
    /// Nothing more is to be sent: no row is ahead.
    void stop() { stopped_ = true; }

    /// Counts the rows due up to a second behind `at_ns` (from time 0), for `connections_wanted`.
    void look_ahead_a_second(std::int64_t at_ns);
    /// Idle lanes that rows to come need: those due within the next second, as of the last look,
    /// and at least the largest instant.
    std::uint32_t connections_wanted(std::uint32_t target) const;
    /// Of those rows, the most of one instant, where they are more than `crowd_min`; else 0. They
    /// leave together, and each needs a lane of its own.
    std::uint32_t largest_crowd(std::uint32_t target) const;
    static constexpr std::uint32_t crowd_min = 1024;
    /// How many instants of rows to come lie before `until_ns`: rows that follow each other faster
    /// than one can be fired count as one, like those of a burst. The same distance each time.
    std::uint32_t instants_until(std::int64_t until_ns);

    std::uint32_t target_of(const Due& due) const { return armer_.target_of(due); }
    /// What a row asks of its lane. `fresh`: one that nobody has used.
    LaneWish wish_of(const Due& due, bool fresh) const;

  private:
    /// Before the first: so far that the first row begins an instant.
    static constexpr std::int64_t none_before_ns = -1'000'000'000;
    /// Rows of one instant.
    struct Crowd {
        std::int64_t due_ns = none_before_ns;
        std::uint32_t rows = 0;
    };

    void note_all_dues(std::size_t sessions);
    void note_crowd(std::uint32_t target, std::int64_t due_ns);

    const Trace& trace_;
    Schedule& schedule_;
    const Armer& armer_;
    bool stopped_ = false;
    std::int64_t taken_ns_ = none_before_ns;  ///< due of the row that was taken last
    std::int64_t near_ns_ = none_before_ns;   ///< ... that `instants_until` has counted last
    std::uint32_t near_rows_ = 0;        ///< that `instants_until` has counted, and were not taken
    std::uint32_t instants_ = 0;         ///< that begin with them
    std::vector<std::uint32_t> soon_;    ///< [targets] rows to come within a second
    std::vector<std::uint32_t> bursts_;  ///< [targets] most rows at one instant
    std::vector<Crowd> latest_;          ///< [targets] the instant that was counted last
    /// [targets] of the rows to come within a second: instants of more than `crowd_min`, a few.
    std::vector<std::vector<Crowd>> crowds_;
    /// [sessions] the last request of each; empty where none keeps a connection.
    std::vector<std::uint32_t> last_of_session_;
};

}  // namespace driftless
