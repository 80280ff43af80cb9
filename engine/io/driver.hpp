/// Driver: what moves bytes, behind one interface, with the stamps and counts that the kernel has
/// of a socket, and how one is made; and Loop, what the coroutines of one thread share: the driver,
/// the ready list, the timers, the frames.
#pragma once

#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/base/task.hpp"
#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"

namespace driftless {

// What the kernel stamps below us, as sockets give it: a transmit stamp when the driver of the
// interface takes a packet, a receive stamp when one comes in. TCP only; a Unix socket has no
// packets. Times here are CLOCK_REALTIME, as the kernel has them. Free functions over sockets,
// which keep nothing and never block, and one socket of our own.

/// Which stamps there are.
struct StampSupport {
    bool transmit = false;
    bool receive = false;
};

/// Asks the kernel for the stamps in `wanted`; says which there will be. For a socket that has just
/// been connected: transmit stamps are keyed by the bytes sent from here on, and a socket that is
/// not connected refuses (Linux SO_TIMESTAMPING, OPT_ID on TCP).
StampSupport switch_on_stamps(Socket socket, StampSupport wanted);

/// The kernel's transmit stamp of the packet whose last byte is number `key` of all bytes sent
/// since the stamps were switched on, from 0, modulo 2^32.
struct TransmitStamp {
    std::uint32_t key = 0;
    std::int64_t realtime_ns = 0;
};

/// Takes one entry off the socket's error queue. False where it is empty. An entry that is no stamp
/// (an ICMP error) has `realtime_ns` 0.
bool read_error_queue(Socket socket, TransmitStamp& stamp);

/// Room for the control message of a receive stamp: three times of which the first is ours.
inline constexpr std::size_t receive_control_bytes = CMSG_SPACE(3 * sizeof(timespec));

/// The receive stamp in a control message, 0 where there is none.
std::int64_t receive_stamp_ns(msghdr& message);

/// A socket that asks for receive stamps as long as it is open. The kernel stamps packets only
/// while a socket asks, and begins some time after the first one did: this one asks from the start.
/// Not open where it cannot be had.
Fd keep_receive_stamps();

// Driver: the seam between the engine and the world. Operations go in as data, completions come
// out, and time is asked here and nowhere else. `UringDriver` (uring.hpp) is the product,
// `EpollDriver` (epoll.hpp) takes its place where the kernel forbids io_uring, and the simulator in
// `tests/sim` is for tests.
//
// Single-threaded: made, used and destroyed on one thread.

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
    bool entered = false;           ///< the kernel was entered, and had something to do
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

enum class DriverKind : std::uint8_t {
    automatic,  ///< io_uring where the kernel allows it, else epoll
    io_uring,
    epoll,
};
template <>
inline constexpr auto closed_list<DriverKind> = name_list("auto", "io_uring", "epoll");

/// What a driver is, for people and for `run.json`.
struct DriverFacts {
    DriverKind kind = DriverKind::automatic;  ///< automatic: none of this host
    const char* transmit_stamps = "no";       ///< "io_uring", "error queue" or "no"; static storage
    bool receive_stamps = false;
    /// Why it is not the one on io_uring, where it replaces that one.
    std::optional<Error> why_not_ring;
    /// What was asked for, probed and used: name, value.
    std::vector<std::pair<std::string, std::string>> features;
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
    /// completes with -ECANCELED, and what the kernel says of it later is dropped.
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
    /// Ends both directions. A receive in flight may not notice (README.md): cancel it before
    /// `close`.
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
    /// Called by a handler: the turn ends behind it, so that the loop can act on what it brought.
    /// What became visible together keeps its stamp, and comes with the next turn.
    void end_turn() { turn_ends_ = true; }

    /// Kernels may lose the end of a connection, and its receive would wait for ever (README.md).
    /// Looks at the sockets of these, `quiet_max` at most; the receives of those that have ended go
    /// on, and what they bring is said to be unread since `since`. One system call.
    virtual void find_ends(std::span<const QuietReceive> quiet) = 0;

    /// Since when completions may have been waiting for a turn: the latest look that found none. It
    /// looks itself: `now`, which the clock has just shown, where none waits. No system call of
    /// io_uring, one of epoll (0.2 us).
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
    virtual DriverFacts facts() const = 0;

  protected:
    static std::uint32_t slot_of(const Op& op) { return op.slot_; }
    static void set_slot(Op& op, std::uint32_t slot) { op.set_slot(slot); }
    static constexpr std::uint32_t no_slot = Op::no_slot;
    /// A handler has asked for the end of the turn since the last call.
    bool turn_ends() { return std::exchange(turn_ends_, false); }

  private:
    bool turn_ends_ = false;
};

struct DriverOptions {
    std::uint32_t ops_max = 4096;         ///< operations in flight at most
    std::uint32_t submit_entries = 1024;  ///< of io_uring, a power of two
    std::uint32_t buffers = 4096;         ///< receive buffers, a power of two
    std::uint32_t buffer_bytes = 4096;
    StampSupport stamps = {};  ///< which kernel stamps sockets are to have, where they can
    bool warm_sends = false;   ///< `warm_send` does something
    bool stamp_ring = true;    ///< false: transmit stamps by the error queues on every kernel
    DriverKind kind = DriverKind::automatic;

    /// Of a thread beside the run: a few requests at a time, small answers.
    static DriverOptions small();
};

/// Errors: denied (io_uring forbidden by a container or sysctl), unsupported (kernel before 6.1),
/// exhausted (memory or descriptor limits), io_failed. `automatic` turns to epoll for every error
/// of io_uring; where that fails, too, the error is that of epoll.
Result<std::unique_ptr<Driver>> make_driver(const DriverOptions& options);

/// Whether a system call failed for a lack of our own: no descriptor, port, memory or buffer was
/// left. That says nothing about the server. `sys_errno` > 0. EADDRNOTAVAIL is what connect says
/// where each port to that server is taken, or where this host has no address to connect from.
constexpr bool is_own_lack(std::int32_t sys_errno) {
    return sys_errno == EMFILE || sys_errno == ENFILE || sys_errno == EADDRNOTAVAIL ||
           sys_errno == ENOMEM || sys_errno == ENOBUFS;
}

/// UnreadWatch: the latest instant at which nothing was waiting to be read. Plain values; it reads
/// no clock.
///
/// A look that finds nothing sets it. A look that finds the kernel's flag does not, because the
/// flag may be stale; an entry that then brings nothing confirms the look before it.
class UnreadWatch {
  public:
    explicit UnreadWatch(Instant now = {}) : looked_(now), since_(now) {}

    /// A look at `now`, or after it.
    void look(Instant now, bool may_wait) {
        looked_ = now;
        since_ = may_wait ? since_ : now;
    }
    /// After the latest look the kernel was let run what it had, and nothing came of it.
    void nothing_came() { since_ = std::max(since_, looked_); }

    Instant since() const { return since_; }

  private:
    Instant looked_;
    Instant since_;
};

/// Loop: what the coroutines of one thread share: the driver, the ready list, the timers, the
/// frames. It is a home (task.hpp), not a policy: who turns it, and in which order of priorities,
/// is decided by its owner (the replay, the mock, the simulator).
class Loop {
  public:
    Loop(Driver& driver, std::size_t timers_max) : driver_(driver), timers_(timers_max) {}
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    Driver& driver() { return driver_; }
    FramePool& frames() { return frames_; }
    ReadyList& ready() { return ready_; }
    Timers& timers() { return timers_; }
    Jobs& jobs() { return jobs_; }

    /// One turn of a plain server or client without a schedule: resumes what is ready, expires
    /// timers, then lets the driver wait until the next timer, but no longer than `until`.
    /// Returns true where anything happened.
    bool turn(Instant until, Wait wait);

  private:
    Driver& driver_;
    FramePool frames_;
    ReadyList ready_;
    Timers timers_;
    Jobs jobs_;  // last: its roots end before the pool and the lists
};

/// Asks once, by `cancel`, that `target` ends; nothing where neither is to be done. Once, as a
/// cancel ends at once: asked again and again, a loop would see nothing else. `spec.target` of the
/// one is the memory: it is null when a connection begins.
inline void cancel_once(Driver& driver, Op& cancel, Op& target) {
    if (target.in_flight() && !cancel.in_flight() && cancel.spec.target != &target) {
        cancel.spec.kind = OpKind::cancel;
        cancel.spec.target = &target;
        driver.submit(cancel);
    }
}

}  // namespace driftless
