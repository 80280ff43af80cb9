/// The two things that this engine does with a ring and liburing does otherwise: publishing entries
/// without entering, and entering without running completions (timing-and-io.md, C.1).
#pragma once

#include <liburing.h>

#include <cstdint>

namespace driftless {

/// Makes prepared entries visible to the kernel; returns how many it has yet to take. liburing maps
/// the index array one to one, so that publishing is the tail alone.
inline std::uint32_t publish_entries(io_uring& ring) {
    io_uring_sq& queue = ring.sq;
    if (queue.sqe_head != queue.sqe_tail) {
        queue.sqe_head = queue.sqe_tail;
        io_uring_smp_store_release(queue.ktail, queue.sqe_tail);
    }
    return queue.sqe_tail - io_uring_smp_load_acquire(queue.khead);
}

/// Prepared entries that the kernel has not taken: a receive that is armed again may be among them.
inline bool has_entries(const io_uring& ring) {
    return ring.sq.sqe_tail != io_uring_smp_load_acquire(ring.sq.khead);
}

/// The kernel has completions that only an enter with GETEVENTS brings out.
inline bool kernel_has_work(const io_uring& ring) {
    const unsigned flags = IO_URING_READ_ONCE(*ring.sq.kflags);
    return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

}  // namespace driftless
