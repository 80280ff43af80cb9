/// LanePool: all connections of a run, and the coroutine that lives on each of them.
///
/// The pool opens lanes ahead of need, hands idle ones to the pacer, sends what a first write left
/// over, ends exchanges, and closes what must be closed. It never decides when a row is fired.
/// Owned by the run; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/io/loop.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/bound_lanes.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/lane_list.hpp"
#include "engine/replay/lane_shelf.hpp"
#include "engine/replay/read_answer.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// Connections to one URL.
struct LaneTarget {
    Address address;
    TlsPeer* tls = nullptr;
    std::uint32_t wanted = 0;  ///< idle lanes that the schedule needs soon
    std::uint32_t connecting = 0;
    std::uint32_t bound = 0;
    std::uint32_t open = 0;  ///< idle, bound or busy
    /// Connects that failed and that no waiting row has answered for yet.
    std::uint32_t failures = 0;
    std::int32_t failure_errno = 0;  ///< or the TlsFailure, bit for bit
    bool failure_is_tls = false;
    bool failure_timed_out = false;
    Instant quiet_until;  ///< after a failure no lane is opened ahead of need before this
};

struct LaneCounts {
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t closed_idle = 0;   ///< idle connections that the server closed
    std::uint64_t retired_idle = 0;  ///< idle connections that we closed before it would
    std::uint32_t open_max = 0;
    std::uint64_t bytes_stray = 0;   ///< received when no exchange was open: they belong to no row
    std::int64_t bytes_sent = 0;     ///< since the last sample
    std::int64_t rows_ended = 0;     ///< since the last sample
    std::int64_t slow_connects = 0;  ///< since the last sample: more than 0.9 s
    std::uint64_t lanes_without_stamps = 0;  ///< connects that the kernel gives no stamps for
    std::uint64_t wire_stamps = 0;
    std::uint64_t wire_missing = 0;      ///< rows that left on a lane with stamps, and got none
    std::uint64_t stamps_refused = 0;    ///< against what is possible: somebody set the clock
    std::uint64_t stamps_stray = 0;      ///< of no open exchange: they came after its end
    std::int64_t wire_delay_sum_ns = 0;  ///< since the last sample: wire - fired
    std::int64_t wire_delay_max_ns = 0;  ///< since the last sample
};

/// What became of a row, for those that wait for it.
struct EndedRow {
    Due due;
    Instant at;             ///< of a whole answer: when its last byte was read
    bool answered = false;  ///< by a whole answer with status 200, as far as framing tells
};

class LanePool {
  public:
    /// `sessions`: how many can come up in wishes.
    LanePool(Loop& loop, const std::vector<Endpoint>& targets, const ReplaySettings& settings,
             BodyPool& bodies, EventRing& ring, std::size_t sessions = 0);
    ~LanePool();
    LanePool(const LanePool&) = delete;
    LanePool& operator=(const LanePool&) = delete;

    std::vector<LaneTarget>& targets() { return targets_; }

    // Home of the pool's own coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

    /// Starts one more connection to the target; false where `lanes_max` are in use.
    bool open_one(std::uint32_t target);
    /// Closes the target's lane that has been idle longest, so that `open_one` to another target,
    /// or for a row that wants an unused lane, can succeed soon. One at a time; false where none
    /// is.
    bool make_room(std::uint32_t target);
    /// Whether `take_idle` would find a lane.
    bool has_idle(std::uint32_t target, const LaneWish& wish) const;

    /// An idle lane, now busy with an empty exchange, or nullptr. None that its server may be
    /// closing right now; that of another session only where there is no other. Whoever takes it
    /// fills in the exchange and fires.
    Lane* take_idle(std::uint32_t target, const LaneWish& wish);

    /// Ends at most one idle lane before its server does, once it has a successor; nothing is due
    /// for `gap`. False where there is nothing to do.
    bool age_slice(Instant now, Duration gap);
    /// How long the servers let a connection stand idle: the shortest that is known.
    IdleLimit idle_limit() const { return shelf_.shortest_limit(); }
    /// Lanes to the target that rows to come can count on, those connecting not included; under
    /// `--connections` busy ones, too.
    std::uint32_t in_stock(std::uint32_t target) const;

    /// Prepares the first bytes of a request on a lane that was just taken and set up. The caller
    /// reads the clock and then lets the driver flush: that is the fire.
    void prepare_fire(Lane& lane);
    /// After the fire: starts the clocks of the exchange and wakes its coroutine. Counts the row as
    /// in flight, unless this is a retry: such a row has been in flight all along.
    void fired(Lane& lane);

    /// Sends the next slice of one request that is not out yet; false where there is none.
    bool send_rest_slice();

    /// Takes transmit stamps that have come, at most `stamps_max`; false where there are none.
    bool collect_stamps();

    /// Rows whose bytes must be built once more: a stale connection asks for another try, or a
    /// connection ended while it was bound to them (they have kept their storage).
    std::vector<DueRow>& again() { return again_; }
    /// Rows that have got their end since somebody emptied this.
    std::vector<EndedRow>& ended() { return ended_; }

    // TLS (lane_tls.cpp).

    /// Binds an idle lane to a row, whose bytes it takes to make records of them; nullptr where
    /// there is none. `late`: the row is due.
    Lane* bind(std::uint32_t target, const DueRow& row, const LaneWish& wish, bool late);
    /// The lane that is bound to this row and holds all of it as records, now busy with an empty
    /// exchange, and the row's bytes; nullptr where they are not ready.
    Lane* take_ready(DueRow& row);
    /// A bound row is due and not ready: it is fired by `take_late`.
    void now_late(const DueRow& row);
    /// The lane of the next late row that is ready, as in `take_ready`; there is one
    /// (`late_front`).
    Lane& take_late(DueRow& row);
    /// The next of them, or nullptr.
    const DueRow* late_front() const {
        const Lane* lane = bound_.late_front();
        return lane == nullptr ? nullptr : &lane->tls->row;
    }
    std::uint32_t late_count() const { return bound_.late_count(); }
    /// A bound lane that its server may be closing right now, because its row was held back, is
    /// closed, and the row comes out of `again`; false where the lane may be used.
    bool give_up_old(const ArmedRequest& request);
    /// Ends what is bound: late rows come out of `again`, the others are still their armer's.
    void unbind_all();

    /// One record of the oldest request that is bound and not ready; false where there is none.
    bool seal_slice();
    bool seal_late() const { return bound_.has_late_to_seal(); }

    /// One step of one handshake: up to 1 ms of arithmetic; false where none waits.
    bool handshake_slice();
    /// Since when a handshake waits; `never`: none does.
    Instant handshake_wanted() const;

    /// Our clock has stood still for so long, because the host slept: answers that are open may
    /// have waited for that long.
    void note_suspension(Duration length);

    /// Ends every open exchange with this outcome.
    void end_all(Outcome outcome);
    /// Closes every connection. The pool is empty when `in_use` is 0.
    void close_all();

    std::uint32_t inflight() const { return inflight_; }
    std::uint32_t in_use() const { return in_use_; }  ///< lanes that are not closed
    bool full() const { return in_use_ >= settings_.lanes_max; }
    /// When the last answer ended that `--max-inflight` rows were waiting for: as it arrived, as
    /// far as that is known.
    Instant freed() const { return freed_; }
    std::uint32_t idle_count() const { return shelf_.count(); }
    std::uint32_t idle_count(std::uint32_t target) const { return shelf_.count(target); }
    LaneCounts& counts() { return counts_; }
    ReceiveCounts& receive_counts() { return receive_counts_; }

    /// Pushes the last event of a row that has no lane: one that never left (the ring has room for
    /// a row), or whose retry found no connection (it is in flight then).
    void end_without_lane(const DueRow& row, Outcome outcome, std::int32_t sys_errno = 0);

    /// First slice of a request: with the head, so that the first bytes of every due row are out
    /// before the rest of any large body.
    /// Less than the ten segments that a fresh connection may send at once, so that all of it
    /// leaves together and its one transmit stamp is that of the head.
    static constexpr std::size_t first_bytes_max = 12 * 1024;
    /// Later slices: 64 KiB keep the loop for 20 us, 2 MB in one piece for 255 us. With
    /// TCP_NOTSENT_LOWAT the longest step is 55 us and the whole takes far longer, so that it is
    /// not used (macro_bench bodies).
    static constexpr std::size_t rest_bytes_max = 64 * 1024;
    static constexpr std::uint16_t stale_retries_max = 1;
    /// A close that crosses the request comes within a round trip. One that comes later is the
    /// server's answer to it: it died, or gave the request up.
    static constexpr Duration crossing_max = seconds(1);
    /// After a connect that failed, or was of no use, lanes are opened only where a row waits.
    static constexpr Duration failure_quiet = milliseconds(200);
    /// Connections that may end under one row before it is fired, none of them of its age.
    static constexpr std::uint16_t losses_max = 3;
    /// 0.2 us each by io_uring, 0.6 us by the error queues (macro_bench kernel-stamps).
    static constexpr std::uint32_t stamps_max = 16;

  private:
    Lane& make_lane();
    Task<void> live(Lane& lane);
    Task<bool> establish(Lane& lane);
    Task<void> exchange(Lane& lane);
    Task<void> disconnect(Lane& lane);
    void settle(Lane& lane);
    void submit_slice(Lane& lane, std::size_t bytes_max);
    void submit_connect(Lane& lane);
    void submit_receive(Lane& lane);
    void cancel_connect(Lane& lane);
    void connect_failed(Lane& lane, std::int32_t sys_errno);
    void note_failure(Lane& lane, std::int32_t sys_errno);
    void begin_exchange(Lane& lane);
    bool only_tls(Lane& lane, const Completion& done);
    void retire(Lane& lane, bool closed);
    Task<bool> shake_hands(Lane& lane);
    void queue_step(Lane& lane);
    void take_handshake(Lane& lane, const Completion& done);
    void send_own(Lane& lane);
    void own_sent(Lane& lane, std::int32_t result);
    static bool reads_nothing(LaneTls& tls);
    void say_goodbye(Lane& lane);
    void lose_bound(Lane& lane);
    DueRow drop_bound(Lane& lane);
    DueRow unbind(Lane& lane);
    void now_idle(Lane& lane);
    Lane* leave_shelf_for(std::uint32_t target, const LaneWish& wish);
    Duration idle_for(const Lane& lane) const;
    bool may_go_on(Lane& lane);
    void close_idle(Lane& lane);
    void release_body(Lane& lane);
    void queue_rest(Lane& lane);
    static void note_rest_wait(ExchangeState& exchange, Duration waited);
    void leave_rest(Lane& lane);
    void push_sent(const Lane& lane, Instant stamp, std::uint8_t flags);
    void push_end(const Event& event, const Due& due, bool in_flight, Instant freed);
    void watch_exchange(Lane& lane, Instant now);
    void arm_stamps(Lane& lane);
    void disarm_stamps(Lane& lane);
    void take_own_stamp(Lane& lane);
    void begin_resends(Lane& lane);
    void take_resends(Lane& lane);
    void take_stamp(Lane& lane, const Completion& done);

    static void on_connect(Op& op, const Completion& done);
    static void on_sent(Op& op, const Completion& done);
    static void on_receive(Op& op, const Completion& done);
    static void on_cancelled(Op& op, const Completion& done);
    static void on_stamp(Op& op, const Completion& done);
    static void on_timer(Timer& timer, Instant now);

    Loop& loop_;
    const ReplaySettings& settings_;
    BodyPool& bodies_;
    EventRing& ring_;
    std::vector<LaneTarget> targets_;
    LaneShelf shelf_;

    static constexpr std::uint32_t block_lanes = 64;
    std::vector<std::unique_ptr<Lane[]>> blocks_;
    std::vector<Lane*> lanes_;
    LaneList closed_;
    LaneList rest_;
    LaneList steps_;  ///< handshakes with bytes to go on with
    BoundLanes bound_;
    std::unique_ptr<char[]> plain_;  ///< one record's plain bytes; null: no target has TLS
    std::vector<DueRow> again_;
    std::vector<EndedRow> ended_;
    std::uint32_t inflight_ = 0;
    Instant freed_;
    std::uint32_t in_use_ = 0;
    bool copies_seen_ = false;  ///< the network makes copies of packets
    bool making_room_ = false;  ///< a lane is closing for another one
    LaneCounts counts_;
    ReceiveCounts receive_counts_;
};

}  // namespace driftless
