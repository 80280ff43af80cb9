/// The parts of drivers: the clocks of the host, the ring of the kernel (IoRing), the operations in
/// flight (OpSlots), how they are written and where receives go to, and transmit stamps.
#pragma once

#include <liburing.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/lists.hpp"
#include "proto/core/names.hpp"

namespace driftless::uring_flags {

// Kernel constants that liburing 2.3 (Debian 12) does not know yet. Values are kernel ABI
// (include/uapi/linux/io_uring.h); each is probed before use.

inline constexpr unsigned enter_abs_timer = 1u << 5;  ///< 6.12: the wait's timeout is absolute
inline constexpr unsigned enter_no_iowait = 1u << 7;  ///< 6.15: a waiting ring is no iowait
inline constexpr std::uint32_t feature_min_timeout = 1u << 15;  ///< 6.12
inline constexpr std::uint32_t feature_no_iowait = 1u << 17;    ///< 6.15
inline constexpr unsigned socket_transmit_stamps = 4;           ///< 6.17: command of a socket

}  // namespace driftless::uring_flags

namespace driftless {

/// HostClocks: the clocks of this host, and how far apart they are. CLOCK_MONOTONIC is the one in
/// which all else is told; CLOCK_REALTIME is the kernel's for stamps of packets, CLOCK_BOOTTIME
/// goes on while the host sleeps. Owned by a driver, of its thread; never waits.
class HostClocks {
  public:
    /// CLOCK_MONOTONIC: never goes back.
    static Instant now() { return {read_ns(CLOCK_MONOTONIC)}; }

    /// Looks how far CLOCK_REALTIME is ahead (about 1 us).
    ClockSample sample();
    /// A stamp of CLOCK_REALTIME, ns, converted by the latest look; 0, which is none, stays 0.
    std::int64_t to_monotonic_ns(std::int64_t realtime_ns) const {
        return realtime_ns == 0 ? 0 : offset_.to_monotonic_ns(realtime_ns);
    }

    /// Whether CLOCK_REALTIME, read now, is as far ahead of `at` as the latest look has found:
    /// it was not set, and little time has passed since `at`. 25 ns.
    bool agrees(Instant at) const {
        constexpr std::int64_t tolerance_ns = 2'000;
        return std::llabs(to_monotonic_ns(read_ns(CLOCK_REALTIME)) - at.ns) <= tolerance_ns;
    }

    /// How long the host has slept since it booted, ns: never goes back. 50 ns.
    std::int64_t suspended_ns();

  private:
    static std::int64_t read_ns(clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return time.tv_sec * 1'000'000'000 + time.tv_nsec;
    }

    ClockOffset offset_;
    std::int64_t suspended_ns_ = 0;
};

// IoRing: an io_uring of the kernel, as this engine uses one. It does two things otherwise than
// liburing: entries are published without entering, and entering does not run completions
// (timing-and-io.md, C.1).
//
// Owned by a driver or a part of it; made, used and destroyed on one thread. It knows no
// operation, and calls no handler. Immovable: the kernel maps its queues.

/// What the kernel granted.
struct IoRingFeatures {
    std::uint32_t bits = 0;      ///< IORING_FEAT_..
    bool registered = false;     ///< the ring's descriptor is registered with itself
    bool absolute_wait = false;  ///< Linux 6.12: a wait ends at an instant, not after a time
    bool no_iowait = false;      ///< Linux 6.15: a wait does not count as waiting for a disk
};

class IoRing {
  public:
    IoRing() = default;
    ~IoRing() { close(); }
    IoRing(const IoRing&) = delete;
    IoRing& operator=(const IoRing&) = delete;

    /// `flags`: IORING_SETUP_.. beside those that every ring here has. Errors: denied (forbidden by
    /// a container or sysctl), unsupported (kernel before 6.1), exhausted, io_failed.
    Result<void> open(std::uint32_t submit_entries, std::uint32_t completion_entries,
                      std::uint32_t flags = 0);
    void close();
    bool is_open() const { return open_; }

    /// An entry to fill; it goes with the next `enter` or `flush`. Flushes where the queue is full;
    /// CHECKs that this made room.
    io_uring_sqe& next_entry() {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        if (entry == nullptr) {
            (void)flush();
            entry = io_uring_get_sqe(&ring_);
        }
        CHECK(entry != nullptr);
        return *entry;
    }
    /// Makes prepared entries visible to the kernel; returns how many it has yet to take. liburing
    /// maps the index array one to one, so that publishing is the tail alone. No system call.
    std::uint32_t publish() {
        io_uring_sq& queue = ring_.sq;
        if (queue.sqe_head != queue.sqe_tail) {
            queue.sqe_head = queue.sqe_tail;
            io_uring_smp_store_release(queue.ktail, queue.sqe_tail);
        }
        return queue.sqe_tail - io_uring_smp_load_acquire(queue.khead);
    }
    /// Hands all entries over without running completions. False where the kernel did not take them
    /// all (-EAGAIN, -EBUSY): the others go with the next one.
    bool flush();
    /// One system call: hands entries over; with IORING_ENTER_GETEVENTS in `flags` it runs the
    /// kernel's deferred work, and waits for `completions_min` completions, until `until` where
    /// that is given. Returns what the kernel does: a count, or -errno.
    int enter(std::uint32_t completions_min, std::uint32_t flags, const Instant* until = nullptr);

    /// Prepared entries that the kernel has not taken: a receive that is armed again may be among
    /// them.
    bool has_entries() const {
        return ring_.sq.sqe_tail != io_uring_smp_load_acquire(ring_.sq.khead);
    }
    /// The kernel has completions that only an enter with GETEVENTS brings out.
    bool kernel_has_work() const {
        return (kernel_flags() & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    }
    /// Completions wait in the kernel for want of room here.
    bool overflowed() const { return (kernel_flags() & IORING_SQ_CQ_OVERFLOW) != 0; }

    /// A completion is visible.
    bool has_completions() const { return io_uring_cq_ready(&ring_) > 0; }
    /// Positions of the next completion, and after the last visible one; they count on, modulo
    /// 2^32.
    std::uint32_t head() const { return *ring_.cq.khead; }
    std::uint32_t tail() const { return io_uring_smp_load_acquire(ring_.cq.ktail); }
    /// The next completion, taken out. Only where one is visible, on a ring of small completions.
    io_uring_cqe take() {
        const io_uring_cqe completion = ring_.cq.cqes[head() & *ring_.cq.kring_mask];
        advance();
        return completion;
    }
    /// The next completion has been read in its place.
    void advance() { io_uring_cq_advance(&ring_, 1); }

    io_uring& raw() { return ring_; }
    const io_uring& raw() const { return ring_; }
    const IoRingFeatures& features() const { return features_; }
    /// System calls of `enter` and `flush`.
    std::uint64_t enters() const { return enters_; }

  private:
    std::uint32_t kernel_flags() const { return IO_URING_READ_ONCE(*ring_.sq.kflags); }

    io_uring ring_{};
    bool open_ = false;
    IoRingFeatures features_;
    std::uint64_t enters_ = 0;
};

/// OpSlots: the operations that a driver has in flight, by slot and generation.
///
/// The kernel knows an operation by its user_data, which is the slot and how often that slot has
/// been given away: a completion of an operation that has ended is a CHECK, and is never taken for
/// that of another one. Owned by a driver, of its thread; allocates in `open` only. It owns no
/// operation and calls no handler.
class OpSlots {
  public:
    OpSlots() = default;
    /// CHECK: nothing is in flight.
    ~OpSlots() { CHECK(in_flight_ == 0); }
    OpSlots(const OpSlots&) = delete;
    OpSlots& operator=(const OpSlots&) = delete;

    /// `ops_max` operations in flight at most; called once.
    void open(std::uint32_t ops_max);

    /// Takes a slot for an operation: it is in flight from here on. CHECKs that it was idle and
    /// that a slot is free.
    void take(Op& op) {
        CHECK(first_free_ != Op::no_slot);  // bounded by ops_max: it counts all that may be taken
        const std::uint32_t number = first_free_;
        Slot& slot = slots_[number];
        slot.go(State::in_flight);
        first_free_ = slot.next_free;
        slot.op = &op;
        slot.behind = Duration{0};
        slot.quiet_since = never;
        slot.cancelled = false;
        op.set_slot(number);
        ++in_flight_;
    }
    /// The operation has ended. Its slot goes to the next one that asks, under a new generation.
    void free(Op& op) {
        const std::uint32_t number = number_of(op);
        Slot& slot = slots_[number];
        slot.go(State::free);
        slot.op = nullptr;
        slot.generation = generation_after(slot.generation);
        slot.next_free = first_free_;
        first_free_ = number;
        op.set_slot(Op::no_slot);
        --in_flight_;
    }

    /// What the kernel is to call this operation; `nobody` where it is not in flight. Never 0.
    std::uint64_t user_data_of(const Op& op) const {
        if (!op.in_flight()) {
            return nobody;
        }
        const std::uint32_t number = number_of(op);
        return (std::uint64_t{slots_[number].generation} << 32) | number;
    }
    /// The operation that the kernel calls so; nullptr where it is not in flight any more.
    Op* find(std::uint64_t user_data) const {
        const std::uint32_t number = static_cast<std::uint32_t>(user_data);
        CHECK(number < slots_.size());
        const bool same = slots_[number].generation == static_cast<std::uint32_t>(user_data >> 32);
        return same ? slots_[number].op : nullptr;
    }
    /// ... CHECKs that it is.
    Op& op_of(std::uint64_t user_data) const {
        Op* const op = find(user_data);
        CHECK(op != nullptr);
        return *op;
    }

    /// Its owner has asked for its end: it is not armed again.
    void note_cancel(const Op& op) { slots_[number_of(op)].cancelled = true; }
    bool is_cancelled(const Op& op) const { return slots_[number_of(op)].cancelled; }
    /// What a receive brings from here on may have been there since.
    void note_quiet(const Op& op, Instant since) {
        Slot& slot = slots_[number_of(op)];
        slot.quiet_since = std::min(slot.quiet_since, since);
    }
    Instant quiet_since(const Op& op) const { return slots_[number_of(op)].quiet_since; }

    /// A completion of a send has come: whether the kernel must be asked again before the owner
    /// hears of it, for room (`waits_for_room`) or to send. The completion may have waited for us
    /// from `unread_since`, or from when the socket was found full, until `now`. Sends wait for
    /// room here, unseen by their owners (io_ring.cpp).
    bool send_goes_on(const Op& op, std::int32_t result, Instant now, Instant unread_since);
    /// A send found its socket full: the kernel is to say when it is not.
    bool waits_for_room(const Op& op) const {
        return slots_[number_of(op)].state == State::waiting_for_room;
    }
    /// As in `Completion`: how long the send's socket may have had room before we saw it.
    Duration behind(const Op& op) const { return slots_[number_of(op)].behind; }

    std::uint32_t in_flight() const { return in_flight_; }

    /// The user_data of no operation.
    static constexpr std::uint64_t nobody = UINT64_MAX;
    /// Generations begin at 1 again, so that no user_data is 0.
    static constexpr std::uint32_t generation_after(std::uint32_t generation) {
        return generation == UINT32_MAX ? 1 : generation + 1;
    }

  private:
    /// Steps from one to the next are checked (`Slot::go`).
    enum class State : std::uint8_t {
        free,              ///< has no operation
        in_flight,         ///< the kernel has been asked, or will be with the next flush
        waiting_for_room,  ///< a send whose socket is full
    };
    struct Slot {
        Op* op = nullptr;
        std::uint32_t generation = 1;
        std::uint32_t next_free = Op::no_slot;
        State state = State::free;
        bool cancelled = false;
        Duration behind{0};
        Instant full_at;  ///< a send: when its socket was found full
        Instant quiet_since = never;

        /// CHECKs that the one may follow the other: what is in flight ends or waits for room; what
        /// is free or waits for room goes into flight.
        void go(State to) {
            CHECK((state == State::in_flight) != (to == State::in_flight));
            state = to;
        }
    };

    /// CHECKs that the operation is in flight here, not at another driver.
    std::uint32_t number_of(const Op& op) const {
        CHECK(op.slot_ < slots_.size() && slots_[op.slot_].op == &op);
        return op.slot_;
    }

    std::vector<Slot> slots_;
    std::uint32_t first_free_ = Op::no_slot;
    std::uint32_t in_flight_ = 0;
};

// OpEntries: how operations are written for an io_uring, and how the buffer of a receive is read.
// It owns what entries point to beside the operation itself; it knows no ring, and enters nothing.
//
// Owned by the UringDriver; lives until the kernel has taken the entries.

/// What a receive with kernel stamps has brought.
struct StampedBytes {
    std::string_view bytes;        ///< the payload; may be empty
    std::int64_t realtime_ns = 0;  ///< the kernel's stamp, CLOCK_REALTIME; 0: none
};

class OpEntries {
  public:
    OpEntries();

    /// Writes an operation; `target` is the user_data of what a cancel ends. CHECKs that the
    /// operation has what its kind needs, and that it is none on stamps: those go to
    /// TransmitStamps. The user_data of the entry is the caller's.
    void fill(io_uring_sqe& entry, const OpSpec& spec, std::uint64_t target);
    /// Asks when a socket has room, instead of sending.
    static void fill_wait_for_room(io_uring_sqe& entry, Socket socket);

    /// Where the kernel finds the buffers of receives (BufferRing).
    static constexpr std::uint16_t buffer_group = 1;

  private:
    msghdr stamped_receive_{};  ///< what a receive with stamps looks like; the kernel copies it
};

/// Reads a buffer that a receive with kernel stamps has filled: it begins with a header and the
/// control message. CHECKs that it is as long as those.
StampedBytes read_stamped(std::string_view filled);

/// BufferRing: the buffers that the kernel fills (a provided-buffer ring, Linux 5.19).
///
/// The ring owns the memory and registers it with one io_uring; the kernel picks a buffer per
/// receive, the driver reads it in place and gives it back at once.
class BufferRing {
  public:
    BufferRing() = default;
    ~BufferRing();
    BufferRing(const BufferRing&) = delete;
    BufferRing& operator=(const BufferRing&) = delete;

    /// `count` is a power of two, at most 32,768. Takes and touches the memory.
    Result<void> open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                      std::uint32_t buffer_bytes);

    std::string_view filled(std::uint16_t id, std::size_t size) const {
        CHECK(id < count_ && size <= buffer_bytes_);
        return {memory_ + std::size_t{id} * buffer_bytes_, size};
    }
    void give_back(std::uint16_t id);

    std::size_t bytes() const { return std::size_t{count_} * buffer_bytes_; }
    std::uint32_t bytes_each() const { return buffer_bytes_; }

  private:
    io_uring_buf_ring* entries_ = nullptr;
    char* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t buffer_bytes_ = 0;
};

/// TransmitStamps: how transmit stamps come from the kernel to the driver, in one of two ways.
///
/// - ring: a small io_uring of its own, with 32-byte completions, on which one multishot command
///   per socket gives each stamp as a completion (Linux 6.17; found by trying). A ring of its own,
///   so that stamps never delay the completions of a turn.
/// - error queue: `recvmsg(MSG_ERRQUEUE)`, once per request, at a moment that the caller chooses
///   (any kernel).
///
/// Sockets and commands are known by the driver's user_data. Owned by a driver, and of its
/// thread. Nothing here allocates after `open`, waits, or is called between a due instant and its
/// send.
class TransmitStamps {
  public:
    enum class Way : std::uint8_t { none, ring, error_queue };

    /// A stamp, or the end of a socket's command (`more` false), or the end of a cancel.
    struct Entry {
        std::uint64_t user_data = 0;
        std::int32_t result = 0;  ///< 0, or -errno where it ended
        bool more = false;
        std::uint32_t key = 0;
        std::int64_t realtime_ns = 0;  ///< 0: no stamp
    };

    TransmitStamps() = default;
    TransmitStamps(const TransmitStamps&) = delete;
    TransmitStamps& operator=(const TransmitStamps&) = delete;

    /// Finds the way. `ring` is tried first where `may_use_ring`; the error queue always works.
    /// `entries`: completions that the ring holds, a power of two.
    void open(std::uint32_t sockets_max, bool may_use_ring, std::uint32_t entries = 16'384);
    Way way() const { return way_; }

    void arm(std::uint64_t user_data, Socket socket);
    /// Ends `target`; both end by an entry: that of the cancel has -ENOENT where the target had
    /// ended already, or is `OpSlots::nobody`.
    void cancel(std::uint64_t target, std::uint64_t user_data);
    /// Something that wants a stamp is being sent on the socket of this command.
    void expect(std::uint64_t user_data, Instant now);

    /// `look` may find something. No system call.
    bool waiting(Instant now) const;
    /// Fetches what there is, at most one system call by the ring, or one per socket by the error
    /// queues: at most `sockets_max`, beginning with `first` (a user_data, 0: none).
    void look(Instant now, std::uint32_t sockets_max, std::uint64_t first);
    /// The next entry that was fetched.
    bool next(Entry& entry);

    std::uint64_t system_calls() const { return ring_.enters() + queue_reads_; }
    /// Places of the ring that the kernel passed over (`next`).
    std::uint64_t passed_over() const { return passed_over_; }

    /// A stamp that an error queue does not have yet is asked for again, for 0.2 s in all.
    static constexpr std::uint32_t tries_max = 200;
    static constexpr Duration pause = milliseconds(1);

  private:
    /// A socket's command, by the slot in its user_data.
    struct Armed {
        std::uint64_t user_data = 0;  ///< 0: none
        Socket socket;
        bool queued = false;  ///< has a place in `expecting_`, perhaps from an earlier owner
        std::uint32_t tries = tries_max;  ///< tries_max: wants nothing
        Instant due;                      ///< of the next look at its error queue
        Armed* next = nullptr;            ///< in `expecting_`
        Armed* before = nullptr;
    };

    bool open_ring(std::uint32_t entries);
    io_uring_cqe& completion_at(unsigned position);
    bool ring_works();
    void read_queue_of(Armed& armed, Instant now);
    Armed* armed_of(std::uint64_t user_data);
    void queue(Armed& armed);

    Way way_ = Way::none;
    IoRing ring_;
    std::uint64_t passed_over_ = 0;

    // By the error queues.
    std::uint64_t queue_reads_ = 0;
    std::vector<Armed> armed_;  ///< [slots]; never grows
    LinkedList<Armed> expecting_;
    std::vector<Entry> found_;  ///< fetched, not yet asked for
    std::size_t found_next_ = 0;
};

template <>
inline constexpr auto closed_list<TransmitStamps::Way> = name_list("no", "io_uring", "error queue");

}  // namespace driftless
