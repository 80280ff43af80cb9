/// Rows before they leave: those that the schedule has in store, and those that are due and wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/schedule.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/lane_parts.hpp"
#include "engine/replay/lanes.hpp"

namespace driftless {

/// RowsAhead: what the schedule has in store: how many rows each server gets within a second, how
/// close the next ones follow each other, and which row is the last of its session. Rows
/// are taken from the schedule through this only. Owned by the pacer.
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
    /// What a row asks of its lane. `fresh`: one that is unused.
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

/// WaitingRows: rows that are due, are built, and found no lane: first-in first-out for each
/// server, and over the servers in the order of their dues. Rows that are sent once more wait
/// apart: they are in flight already, and want a connection that is unused. Sees to it that
/// connections are opened for them, and ends those whose connect has failed. Owned by the pacer.
class WaitingRows {
  public:
    WaitingRows(Lanes& lanes, Armer& armer, EventRing& ring, const RowsAhead& ahead);

    /// The row waits from here on.
    void add(RowUnderway& row);
    /// So many rows wait for a lane to this server, those that are sent once more not included.
    std::uint32_t count(std::uint32_t target) const { return queues_[target].rows.count; }
    bool empty() const;

    /// TLS: binds a row that is due to an idle lane, late, where no row before it wants that one.
    bool bind(RowUnderway& row);
    /// A row that does not wait has a lane, or would find one that it need not wait for. False
    /// where its session keeps to one connection: that may be about to come free.
    bool finds_lane(const RowUnderway& row) const;
    /// A row has a lane that it may leave on now.
    bool can_leave() const { return next().has_value(); }
    /// A row may leave, and nothing that is there or under way can carry it.
    bool wants_connection() const { return next_without_lane().has_value(); }
    struct Step {
        bool done = false;           ///< a row has got a lane; false: none could
        Lane* lane = nullptr;        ///< with an empty exchange; null: the row was bound to it
        RowUnderway* row = nullptr;  ///< that is to be fired on it
    };
    /// The first row that may leave gets its lane.
    Step step();

    /// A connect that failed is the end of the row that has waited longest for it; for the others
    /// connections are opened, until `stop`. True where a row has ended.
    bool answer_failures();

    /// Each row that has not left.
    void each_unsent(auto use) {
        for (Queue& queue : queues_) {
            for (RowUnderway* row = queue.rows.first; row != nullptr; row = row->next) {
                use(*row);
            }
        }
    }
    /// Nothing more is to be sent. Rows that had left get their end.
    void stop();
    /// After `stop`: the next row that never left gets its end; false where there is none, or the
    /// ring has no room.
    bool end_one();
    /// After `stop`, where a run is taken down without records: only their bytes are given back.
    void forget();

  private:
    struct Queue {
        RowList rows;     ///< that have not left
        RowList retries;  ///< that have
        bool empty() const { return rows.empty() && retries.empty(); }
    };

    struct Choice {
        std::uint32_t target = 0;
        bool retry = false;
        const RowList* rows = nullptr;  ///< not empty
        /// A retry goes first, else what was due first.
        bool before(const Choice& other) const;
    };
    /// Whose first row leaves next; nothing where none may.
    std::optional<Choice> next() const;
    bool has_lane(std::uint32_t target, const RowList& rows) const;
    bool lacks_connection(std::uint32_t target) const;
    void open_wanted();
    /// Whose first row gets the next connection; nothing where none wants one.
    std::optional<Choice> next_without_lane() const;
    void make_room(const Choice& wanting);
    void end(RowUnderway& row, Outcome outcome, std::int32_t sys_errno = 0);
    bool is_retry(const RowList& rows, std::uint32_t target) const {
        return &rows == &queues_[target].retries;
    }

    Lanes& lanes_;
    Armer& armer_;
    EventRing& ring_;
    const RowsAhead& ahead_;
    std::vector<Queue> queues_;  ///< [targets]
    bool stopped_ = false;
};

}  // namespace driftless
