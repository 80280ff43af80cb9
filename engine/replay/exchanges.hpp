/// What happens on a lane: how its connection is established and ended, with its kernel stamps; and
/// Exchanges, from the fire to the end of the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/task.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/lane_parts.hpp"

namespace driftless {

/// WireStamps: kernel transmit stamps of lanes: armed with the connection, matched to the exchange
/// by their byte, asked for before a row ends, cancelled with the connection. Owned by the pool.
class WireStamps {
  public:
    explicit WireStamps(LaneParts& parts) : parts_(parts) {}

    /// Right after the connect: keys count the bytes from here.
    void arm(Lane& lane);
    void disarm(Lane& lane);
    /// Takes stamps that have come, at most `stamps_max`; false where there are none.
    bool collect();
    /// The row is about to end: its stamp is taken now, or never.
    void take_own(Lane& lane);
    /// A stamp of this lane has come.
    void take(Lane& lane, const Completion& done);

    /// 0.2 us each by io_uring, 0.6 us by the error queues (macro_bench kernel-stamps).
    static constexpr std::uint32_t stamps_max = 16;

  private:
    LaneParts& parts_;
};

/// Connecting: how the connection of a lane is established and ended: the connect and its time
/// limit, the steps of a TLS handshake, which wait for a quiet moment, and the close_notify. It has
/// no part in exchanges. Owned by the pool, whose lanes outlive it.
class Connecting {
  public:
    Connecting(LaneParts& parts, WireStamps& stamps) : parts_(parts), stamps_(stamps) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return parts_.loop.frames(); }
    ReadyList& ready() { return parts_.loop.ready(); }

    /// Connects, arms the lane's receive, and shakes hands where it has TLS. False where that
    /// failed: the failure is noted for the row that waits. Suspends until the connect ends; its
    /// time limit or `broken` cancels it.
    Task<bool> establish(Lane& lane);
    /// Ends both directions, cancels what the kernel holds of the lane, waits for that
    /// (`Driver::cancel_max` for each operation at most), and frees the socket.
    Task<void> disconnect(Lane& lane);

    /// The connect has ended.
    static void connected(Lane& lane, const Completion& done);
    /// Bytes of a lane that is connecting: of a handshake, or out of turn.
    void received(Lane& lane, const Completion& done);
    /// The kernel has taken bytes of TLS itself: of a handshake, or of a farewell.
    static void own_sent(Lane& lane, const Completion& done);

    /// One step of one handshake: up to 1 ms of arithmetic; false where none waits.
    bool handshake_slice();
    /// `--timeout-connect` of the lane has passed. A handshake that waits for a step of ours goes
    /// on: it has as much longer as it has waited.
    void timed_out(Lane& lane);
    /// The loop did not run for so long: that time does not count against the server of a handshake
    /// that is under way.
    void was_away(Lane& lane, Duration length);
    /// Since when a handshake waits; `never`: none does.
    Instant handshake_wanted() const;

    /// What came while no request was out is tickets and key updates, and nothing else.
    static bool only_tls(Lane& lane, const Completion& done);
    /// A connection that is of no use is the end of the row that has waited longest for one.
    void note_failure(const Lane& lane, std::int32_t sys_errno);

    /// After a connect that failed, or was of no use, lanes are opened only where a row waits.
    static constexpr Duration failure_quiet = milliseconds(200);

  private:
    Task<bool> shake_hands(Lane& lane);
    void submit_connect(Lane& lane);
    void submit_receive(Lane& lane);
    void connect_failed(Lane& lane, std::int32_t sys_errno);
    void begin_resends(Lane& lane);
    void queue_step(Lane& lane);
    static bool waits_for_step(const Lane& lane) {
        return lane.tls != nullptr && lane.tls->in_steps;
    }
    void give_time(Lane& lane, Duration waited);
    void send_own(Lane& lane);
    void say_goodbye(Lane& lane);

    LaneParts& parts_;
    WireStamps& stamps_;
    LaneList steps_;  ///< handshakes with bytes to go on with
};

/// Exchanges: what happens on a lane from the fire to the end of the answer: the request goes out,
/// its first bytes at once and the rest in slices; time is watched; in the end the row is over, or
/// asks for another connection. Reading the answer is `read_answer`'s (lane.hpp). It opens
/// and closes no connection. Owned by the pool, whose lanes outlive it.
class Exchanges {
  public:
    Exchanges(LaneParts& parts, LaneShelf& shelf, WireStamps& stamps, InFlight& in_flight)
        : parts_(parts), shelf_(shelf), stamps_(stamps), in_flight_(in_flight) {}

    /// The lane, idle or bound, is busy with an exchange of no row.
    void begin(Lane& lane);
    /// The exchange is that of this row, and its first bytes are in the driver's queue. The caller
    /// reads the clock and then lets the driver flush: that is the fire. `patience`: so long after
    /// it the request is abandoned; nothing: never.
    void prepare(Lane& lane, RowUnderway& row, const AnswerLimits& limits,
                 std::optional<Duration> patience = std::nullopt);
    /// After the fire: starts the clocks of the exchange and wakes its coroutine. `at`: when the
    /// row left, for the first time where this is a retry.
    void fired(Lane& lane, Instant at);

    /// Sends the next slice of one request that is not out yet; false where there is none.
    bool send_rest_slice();
    /// The lane has bytes left and the kernel none: it waits for its turn.
    void queue_rest(Lane& lane);

    /// The kernel has taken bytes of the request, or will not.
    void sent(Lane& lane, const Completion& done);
    /// Bytes of the answer, or the end of the connection.
    void received(Lane& lane, const Completion& done);
    /// Ends the exchange where a deadline has passed, else sets the timer for the next.
    void watch(Lane& lane, Instant now);

    /// The exchange is over: pushes the end of its row, or asks to have it sent once more. True
    /// where the connection can carry another one.
    bool settle(Lane& lane);
    /// The kernel has done with the request: its bytes are free.
    void release_body(Lane& lane);

    ReceiveCounts& receive_counts() { return receive_counts_; }

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

  private:
    struct Deadlines {
        Instant total;
        Instant silence;  ///< by what has come so far
        Instant abandon;  ///< `never`: its client waits
        Instant first() const { return std::min({total, silence, abandon}); }
    };
    Deadlines deadlines_of(const ExchangeState& exchange) const;
    bool is_past_limit(const ExchangeState& exchange, const Completion& done) const;
    void submit_slice(Lane& lane, std::size_t bytes_max);
    static void note_rest_wait(ExchangeState& exchange, Duration waited);
    void leave_rest(Lane& lane);
    void note_over(Lane& lane);
    void take_resends(Lane& lane);
    bool is_stale(const Lane& lane) const;
    bool may_go_on(Lane& lane);
    void push_sent(const Lane& lane, Instant stamp, std::uint8_t flags);
    static bool is_end_unsure(const ExchangeState& exchange, Instant now);
    void push_end(Lane& lane);

    LaneParts& parts_;
    LaneShelf& shelf_;
    WireStamps& stamps_;
    InFlight& in_flight_;
    LaneList rest_;             ///< lanes with bytes to send
    bool copies_seen_ = false;  ///< the network makes copies of packets
    ReceiveCounts receive_counts_;
};

}  // namespace driftless
