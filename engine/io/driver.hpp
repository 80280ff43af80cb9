/// Driver: the seam between the engine and the world. Operations go in as data, completions come
/// out, and time is asked here and nowhere else. `UringDriver` (uring.hpp) is the product; the
/// simulator in `tests/sim` is the other one.
///
/// Single-threaded: made, used and destroyed on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/io/kernel_stamps.hpp"
#include "engine/io/op.hpp"
#include "engine/time/clock_offset.hpp"
#include "engine/time/instant.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// How a turn may wait when nothing is ready.
enum class Wait : std::uint8_t {
    none,   ///< return at once
    spin,   ///< do not give up the core: return after one short pause
    sleep,  ///< sleep until a completion or `until`
};

struct Turn {
    Instant until;                       ///< sleep: no later than this (the wake may be late)
    std::uint32_t completions_max = 16;  ///< handlers called at most
    Wait wait = Wait::none;
    bool may_enter = true;  ///< allowed to let the kernel run its deferred work (bounded, ~100 us)
};

struct TurnResult {
    std::uint32_t completions = 0;  ///< handlers called
    bool entered = false;           ///< the kernel was entered
    bool slept = false;
    bool more = false;  ///< something has become visible, and comes with the next turn
};

/// Counts since the start.
struct DriverCounters {
    std::uint64_t submits = 0;  ///< operations
    std::uint64_t enters = 0;   ///< system calls
    std::uint64_t completions = 0;
    std::uint64_t no_buffers = 0;  ///< receives that ended for want of a buffer, and were re-armed
    std::uint64_t overflows = 0;   ///< turns in which the completion queue had overflowed
};

/// Segments that the kernel has sent again on a connection, from its SYN on.
struct ResendCounts {
    std::uint32_t segments = 0;
    /// The other end has said of so many that it had them already (DSACK, RFC 2883).
    std::uint32_t duplicates = 0;
    std::uint32_t open = 0;  ///< segments under way: the other end has not said that it has them
};

/// A receive in flight that has brought nothing since an instant: nothing was there then.
struct QuietReceive {
    const Op* receive = nullptr;
    Instant since;
};

class Driver {
  public:
    virtual ~Driver() = default;

    /// An operation that the kernel does not end in so long after its cancel is given up: it
    /// completes with -ECANCELED, and what the kernel says of it later is nobody's.
    static constexpr Duration cancel_max = seconds(1);
    /// Receives of one look for ends: some 5 us.
    static constexpr std::size_t quiet_max = 32;

    /// CLOCK_MONOTONIC, or virtual time. Never goes back.
    virtual Instant now() = 0;

    /// A TCP socket (TCP_NODELAY, close-on-exec) or a Unix one, by the address family, not yet
    /// connected. Errors: exhausted (descriptors), unsupported, io_failed.
    virtual Result<Socket> open_socket(const Address& address) = 0;
    /// A listening socket. Port 0 picks one. Errors: exists (address in use), denied, io_failed.
    virtual Result<Socket> listen(const Address& address, int backlog) = 0;
    virtual Result<Address> local_address(Socket socket) = 0;
    /// Ends both directions. A receive in flight may not notice (README.md): whoever closes cancels
    /// it.
    virtual void shutdown(Socket socket) = 0;
    /// Frees the socket. CHECK: no operation of ours on it is in flight.
    virtual void close(Socket socket) = 0;

    /// Takes the operation; it may reach the kernel only at the next `flush` or `turn`.
    /// CHECKs that it is not in flight already. Never fails: what fails, fails by its completion.
    virtual void submit(Op& op) = 0;
    /// Hands all taken operations to the kernel now, without running completions. False where it
    /// did not take them all: the others go with the next turn.
    virtual bool flush() = 0;

    /// Flushes, lets completions happen, calls handlers, perhaps waits. One clock read stamps all
    /// completions that became visible together.
    virtual TurnResult turn(const Turn& turn) = 0;
    /// Of a handler: the turn ends behind it, so that somebody can act on what it brought. What
    /// became visible together keeps its stamp, and comes with the next turn.
    void end_turn() { turn_ends_ = true; }

    /// Kernels may lose the end of a connection, and its receive would wait for ever (README.md).
    /// Looks at the sockets of these, `quiet_max` at most; the receives of those that have ended go
    /// on, and what they bring is said to be unread since `since`. One system call.
    virtual void find_ends(std::span<const QuietReceive> quiet) = 0;

    /// Since when completions may have been waiting for a turn: the latest instant at which
    /// somebody looked and none was. Looks by itself: `now`, which the clock has just shown, where
    /// none waits. No system call.
    virtual Instant unread_since(Instant now) = 0;

    /// Switches the kernel's stamps of a socket on, once, when it has just been connected: keys of
    /// transmit stamps count its bytes from here. Says which there will be.
    virtual StampSupport switch_on_stamps(Socket socket) = 0;
    /// `collect_stamps` may have something to hand over. No system call.
    virtual bool stamps_waiting(Instant now) = 0;
    /// Hands transmit stamps over, at most `stamps_max`, the kernel entered once or once per
    /// socket; begins with those of `first` where that is given. Returns how many handlers it
    /// called.
    virtual std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first = nullptr) = 0;
    /// Looks at the clock by which the kernel stamps (about 1 us). Stamps are converted by the
    /// latest look.
    virtual ClockSample sample_clock() = 0;
    /// How long the host has slept since it booted, ns (CLOCK_BOOTTIME minus CLOCK_MONOTONIC, which
    /// stands still then). Never goes back. 50 ns.
    virtual std::int64_t suspended_ns() = 0;

    /// What was sent again on a connected socket so far: one system call (0.6 us). None where it is
    /// not TCP.
    virtual std::optional<ResendCounts> resent(Socket socket) = 0;

    /// Sends a byte nowhere, so that the next send finds the kernel's path in the caches. Nothing
    /// where the driver was not made for it.
    virtual void warm_send() = 0;

    /// Operations in flight.
    virtual std::uint32_t in_flight() const = 0;
    virtual DriverCounters counters() const = 0;

  protected:
    static std::uint32_t slot_of(const Op& op) { return op.slot_; }
    static void set_slot(Op& op, std::uint32_t slot) { op.set_slot(slot); }
    static constexpr std::uint32_t no_slot = Op::no_slot;
    /// A handler has asked for the end of the turn since somebody looked.
    bool turn_ends() { return std::exchange(turn_ends_, false); }

  private:
    bool turn_ends_ = false;
};

}  // namespace driftless
