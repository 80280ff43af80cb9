/// WaitingRows: rows that are due, are built, and found no lane: first-in first-out for each
/// server, and over the servers in the order of their dues. Rows that are sent once more wait
/// apart: they are in flight already, and want a connection that nobody has used. Sees to it that
/// connections are opened for them, and ends those whose connect has failed. Owned by the pacer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/prompt/arm.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/rows_ahead.hpp"

namespace driftless {

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
