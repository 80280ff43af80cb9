/// How a lane comes to stand and how it ends, and the kernel stamps that are armed with its
/// connection.
#pragma once

#include <cstdint>

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

/// Connecting: how a lane comes to stand and how it ends: the connect and its time limit, the steps
/// of a TLS handshake, which wait for a quiet moment, and the farewell. What it carries in between
/// is no business of this. Owned by the pool, whose lanes outlive it.
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
    /// Nobody looked for so long: that was not the server's time, where a handshake is under way.
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

}  // namespace driftless
