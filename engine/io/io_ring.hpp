/// Kernel constants that liburing 2.3 (Debian 12) does not know yet. Values are kernel ABI
/// (include/uapi/linux/io_uring.h); each is probed before use.
#pragma once

#include <liburing.h>
#include <time.h>

#include <cstdint>

#include "engine/base/time.hpp"
#include "proto/core/check.hpp"
#include "proto/core/result.hpp"

namespace driftless::uring_flags {

inline constexpr unsigned enter_abs_timer = 1u << 5;  ///< 6.12: the wait's timeout is absolute
inline constexpr unsigned enter_no_iowait = 1u << 7;  ///< 6.15: a waiting ring is no iowait
inline constexpr std::uint32_t feature_min_timeout = 1u << 15;  ///< 6.12
inline constexpr std::uint32_t feature_no_iowait = 1u << 17;    ///< 6.15
inline constexpr unsigned socket_transmit_stamps = 4;           ///< 6.17: command of a socket
inline constexpr unsigned setup_no_sqarray = 1u << 16;          ///< 6.6

}  // namespace driftless::uring_flags

namespace driftless {

/// HostClocks: the clocks of this host, and how far apart they are. CLOCK_MONOTONIC is the one in
/// which all else is told; CLOCK_REALTIME is the kernel's for stamps of packets, CLOCK_BOOTTIME
/// goes on while the host sleeps. Owned by the UringDriver, of its thread; never waits.
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

}  // namespace driftless
