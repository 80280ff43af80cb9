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
#include "engine/replay/answer.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// First-in first-out list of lanes through `Lane::next`, or last-in first-out by `push_front`.
struct LaneList {
    Lane* first = nullptr;
    Lane* last = nullptr;
    std::uint32_t count = 0;

    void push_front(Lane& lane);
    void push_back(Lane& lane);
    Lane* pop_front();
    void remove(Lane& lane);
};

/// Connections to one URL.
struct LaneTarget {
    Address address;
    LaneList idle;  ///< youngest first: the least likely to be stale
    std::uint32_t connecting = 0;
    std::uint32_t open = 0;  ///< idle or busy
    /// Connects that failed and that no waiting row has answered for yet.
    std::uint32_t failures = 0;
    std::int32_t failure_errno = 0;
    bool failure_timed_out = false;
    Instant quiet_until;  ///< after a failure no lane is opened ahead of need before this
};

struct LaneCounts {
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t closed_idle = 0;  ///< idle connections that the server closed
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

class LanePool {
  public:
    LanePool(Loop& loop, const std::vector<Address>& targets, const ReplaySettings& settings,
             BodyPool& bodies, EventRing& ring);
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
    /// An idle lane to the target that no exchange has used.
    bool has_unused(std::uint32_t target) const;

    /// An idle lane, now busy with an empty exchange, or nullptr. `fresh`: only one that no
    /// exchange has used. Whoever takes it fills in the exchange and fires.
    Lane* take_idle(std::uint32_t target, bool fresh);

    /// Prepares the first bytes of a request on a lane that was just taken and set up. The caller
    /// reads the clock and then lets the driver flush: that is the fire.
    void prepare_fire(Lane& lane);
    /// After the fire: starts the clocks of the exchange and wakes its coroutine. Counts the row as
    /// in flight, unless this is a retry: such a row has been in flight all along.
    void fired(Lane& lane);

    /// Sends the next slice of one request that is not out yet; false where there is none.
    bool send_rest_slice();
    bool rest_waiting() const { return rest_.first != nullptr; }

    /// Takes transmit stamps that have come, at most `stamps_max`; false where there are none.
    bool collect_stamps();

    /// Rows whose stale connection asks for another try: planned position and tries so far.
    struct Retry {
        std::uint32_t planned;
        std::uint16_t tries;
        Instant fired;  ///< of the first try
    };
    std::vector<Retry>& retries() { return retries_; }

    /// Ends every open exchange with this outcome.
    void end_all(Outcome outcome);
    /// Closes every connection. The pool is empty when `in_use` is 0.
    void close_all();

    std::uint32_t inflight() const { return inflight_; }
    std::uint32_t in_use() const { return in_use_; }  ///< lanes that are not closed
    std::uint32_t idle_count() const;
    LaneCounts& counts() { return counts_; }
    ReceiveCounts& receive_counts() { return receive_counts_; }

    /// Pushes the last event of a row that has no lane: one that never left, or whose retry found
    /// no connection (`in_flight` then).
    void end_without_lane(std::uint32_t planned, Outcome outcome, std::int32_t sys_errno,
                          std::uint16_t stale_retries, bool in_flight);

    /// First slice of a request: with the head, so that the first bytes of every due row are out
    /// before the rest of any large body.
    /// Less than the ten segments that a fresh connection may send at once, so that all of it
    /// leaves together and its one transmit stamp is that of the head.
    static constexpr std::size_t first_bytes_max = 12 * 1024;
    /// Later slices: 64 KiB keep the loop for 20 us, 2 MB in one piece for 255 us. With
    /// TCP_NOTSENT_LOWAT the longest step is 55 us and the whole takes far longer, so that it is
    /// not used (macro_bench bodies).
    static constexpr std::size_t rest_bytes_max = 64 * 1024;
    static constexpr std::uint16_t stale_retries_max = 3;
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
    void cancel_connect(Lane& lane);
    void connect_failed(Lane& lane, std::int32_t sys_errno);
    void now_idle(Lane& lane);
    void close_idle(Lane& lane);
    void release_body(Lane& lane);
    void queue_rest(Lane& lane);
    void push_sent(const Lane& lane, Instant stamp);
    void push_end(const Event& event, bool in_flight);
    void watch_exchange(Lane& lane, Instant now);
    void arm_stamps(Lane& lane);
    void disarm_stamps(Lane& lane);
    void take_own_stamp(Lane& lane);
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

    static constexpr std::uint32_t block_lanes = 64;
    std::vector<std::unique_ptr<Lane[]>> blocks_;
    std::vector<Lane*> lanes_;
    LaneList closed_;
    LaneList rest_;
    std::vector<Retry> retries_;
    std::uint32_t inflight_ = 0;
    std::uint32_t in_use_ = 0;
    bool making_room_ = false;  ///< a lane is closing for another one
    LaneCounts counts_;
    ReceiveCounts receive_counts_;
};

}  // namespace driftless
