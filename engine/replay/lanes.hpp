/// All connections of a run; between two exchanges their lanes are taken, put back, bound to rows
/// ahead of time and, over TLS, sealed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/replay/exchanges.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/lane_parts.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// Sealing: lanes over TLS that are bound to a row each, whose request is turned into records on
/// them before it is due. Which record is made next, which lane is ready, which rows are late, and
/// what becomes of a row whose lane will not carry it. It takes lanes from no shelf and sends
/// nothing. Owned by the pool, whose lanes outlive it.
class Sealing {
  public:
    Sealing(LaneParts& parts, InFlight& in_flight) : parts_(parts), in_flight_(in_flight) {}

    /// The lane is the row's from here on. `late`: the row is due.
    void bind(Lane& lane, RowUnderway& row, bool late);
    /// The lane is bound no more, and its row has no lane.
    RowUnderway& unbind(Lane& lane);

    /// The lane whose next record is to be made: of late rows first; nullptr where all are ready.
    Lane* next() const { return sealing_late_.empty() ? sealing_.first : sealing_late_.first; }
    /// What is to be made first is of a late row.
    bool next_is_late() const { return !sealing_late_.empty(); }
    /// Makes that record; with the last one the lane is ready, at `now`. False where its
    /// connection makes none any more.
    bool seal(Lane& lane, Instant now);

    /// The row of a lane that is not ready has become due.
    void now_late(Lane& lane);
    /// The ready lane of the late row that goes first; nullptr where there is none.
    Lane* late_front() const { return ready_late_.first; }
    std::uint32_t late_count() const { return late_count_; }

    /// The row of a lane that will not carry it. Its bytes are worth nothing, but it keeps their
    /// storage: it must not wait for memory behind rows that cannot leave before it.
    RowUnderway& drop(Lane& lane);
    /// The connection has ended under its row: the row is built again, or it ends, where it is late
    /// and no connection will do. `young`: the connection had not ended of its age.
    void lose(Lane& lane, bool young);
    /// Nothing more is to be sent: a late row comes back to be built again, any other waits for its
    /// turn without its bytes.
    void give_up(Lane& lane);

    /// Connections that may end under one row before it is fired, none of them of its age.
    static constexpr std::uint16_t losses_max = 3;

  private:
    LaneParts& parts_;
    InFlight& in_flight_;
    LaneList sealing_;       ///< not ready
    LaneList sealing_late_;  ///< the same, and their row is due
    LaneList ready_late_;    ///< ready, and their row is due
    std::uint32_t late_count_ = 0;
};

// Lanes: all connections of a run, as the parts that lead them through their lives. Other code may
// use each part directly; a part changes no lane that another part has at the moment. Owned by the
// run; one thread.
//
//     LanePool     opens lanes, hands idle ones to rows, and closes what must be closed
//     Connecting   how a connection is established and ended
//     LaneShelf    idle lanes
//     Sealing      TLS: lanes that are bound to a row, whose bytes become records
//     Exchanges    lanes that carry a request and its answer; WireStamps, the kernel's word on it
//     InFlight     the rows that are out, and their ends

/// Keeps the lanes, with the coroutine that lives on each. It never decides when a row is fired.
class LanePool {
  public:
    LanePool(LaneParts& parts, LaneShelf& shelf, WireStamps& stamps, Connecting& connecting,
             Sealing& sealing, Exchanges& exchanges);
    ~LanePool();
    LanePool(const LanePool&) = delete;
    LanePool& operator=(const LanePool&) = delete;

    // Home of the pool's own coroutines (task.hpp).
    FramePool& frames() { return parts_.loop.frames(); }
    ReadyList& ready() { return parts_.loop.ready(); }

    /// Starts one more connection to the target; false where `lanes_max` are in use.
    bool open_one(std::uint32_t target);
    /// Closes the target's lane that has been idle longest, so that `open_one` to another target,
    /// or for a row that wants an unused lane, can succeed soon. One at a time; false where none
    /// is.
    bool make_room(std::uint32_t target);
    /// An idle lane that is not to be used any more.
    void close_idle(Lane& lane);

    /// Whether `take_idle` would find a lane.
    bool has_idle(std::uint32_t target, const LaneWish& wish) const {
        return shelf_.find(target, wish, parts_.loop.driver().now()) != nullptr;
    }
    /// An idle lane, now busy with an empty exchange, or nullptr. None that its server may be
    /// closing right now; that of another session only where there is no other. The caller
    /// prepares the exchange and fires.
    Lane* take_idle(std::uint32_t target, const LaneWish& wish);
    /// TLS: binds an idle lane to a row, whose bytes it takes to make records of them; nullptr
    /// where there is none. `late`: the row is due.
    Lane* bind(std::uint32_t target, RowUnderway& row, const LaneWish& wish, bool late);
    /// The lane that is bound to this row and holds all of it as records, now busy with an empty
    /// exchange; nullptr where they are not ready, or it is bound to none.
    Lane* take_ready(const RowUnderway& row);
    /// A bound row is due and not ready: it is to be fired as soon as it is.
    void now_late(const RowUnderway& row);
    /// A bound lane that its server may be closing right now, because its row was held back, is
    /// closed, and the row comes out of `again`; false where the lane may be used.
    bool give_up_old(const RowUnderway& row);
    /// Ends what is bound, since nothing more is to be sent.
    void unbind_all();
    /// One record of the oldest request that is bound and not ready; false where there is none.
    bool seal_slice();

    /// Calls `what` for each lane in this state: `busy` ones carry a request.
    template <class What>
    void for_each(LaneState state, What what) {
        for (Lane* lane : lanes_) {
            if (lane->state == state) {
                what(*lane);
            }
        }
    }
    /// Kernels may lose the end of a connection. Looks at some lanes that have brought nothing for
    /// a while, in turns, so that each end is seen within `end_unseen_max`: a row gets its outcome,
    /// and an idle lane is not used. False where none is to be looked at now. Where answers stream
    /// there is none; 1,000 that wait for their first byte cost 64 system calls a second.
    bool find_ends(Instant now);
    static constexpr Duration end_unseen_max = seconds(1);

    /// Closes every connection. The pool is empty when `in_use` is 0.
    void close_all();

    std::uint32_t in_use() const { return in_use_; }  ///< lanes that are not closed
    bool full() const { return in_use_ >= parts_.settings.lanes_max; }

  private:
    struct Handlers;  ///< of the operations and timers of lanes

    Lane& make_lane();
    Task<void> live(Lane& lane);
    Task<void> exchange(Lane& lane);
    void closed(Lane& lane);
    void retire(Lane& lane, bool closed);
    void now_idle(Lane& lane);
    Lane* leave_shelf_for(std::uint32_t target, const LaneWish& wish);

    LaneParts& parts_;
    LaneShelf& shelf_;
    WireStamps& stamps_;
    Connecting& connecting_;
    Sealing& sealing_;
    Exchanges& exchanges_;

    static constexpr Duration look_quiet = milliseconds(250);   ///< silent for so long, and
    static constexpr Duration look_period = milliseconds(500);  ///< all of them so often
    static constexpr std::size_t look_lanes_max = 256;          ///< at a time: 1 us

    static constexpr std::uint32_t block_lanes = 64;
    std::vector<std::unique_ptr<Lane[]>> blocks_;
    std::vector<Lane*> lanes_;
    LaneList closed_;
    std::unique_ptr<char[]> plain_;  ///< one record's plain bytes; null: no target has TLS
    std::uint32_t in_use_ = 0;
    std::size_t to_look_at_ = 0;  ///< the next lane; beyond them: all were
    Instant look_began_;
    bool making_room_ = false;  ///< a lane is closing for another one
};

struct Lanes {
    /// `sessions`: how many can come up in wishes.
    Lanes(Loop& loop, const std::vector<Endpoint>& targets, const ReplaySettings& settings,
          BodyPool& bodies, EventRing& ring, std::size_t sessions = 0);

    LaneParts parts;
    LaneShelf shelf;
    WireStamps stamps;
    InFlight in_flight;
    Connecting connecting;
    Sealing sealing;
    Exchanges exchanges;
    LanePool pool;
};

}  // namespace driftless
