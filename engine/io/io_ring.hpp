/// IoRing: an io_uring of the kernel, as this engine uses one. It does two things otherwise than
/// liburing: entries are published without entering, and entering does not run completions
/// (timing-and-io.md, C.1).
///
/// Owned by a driver or a part of it; made, used and destroyed on one thread. It knows no
/// operation, and calls no handler. Immovable: the kernel maps its queues.
#pragma once

#include <liburing.h>

#include <cstdint>

#include "engine/time/instant.hpp"
#include "proto/core/check.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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
