#include "engine/io/uring.hpp"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/io/sockets.hpp"
#include "engine/io/uring_calls.hpp"
#include "engine/io/uring_flags.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

inline void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

__kernel_timespec timespec_of(std::int64_t ns) {
    const std::int64_t positive = std::max<std::int64_t>(ns, 0);
    return {positive / 1'000'000'000, positive % 1'000'000'000};
}

}  // namespace

Instant UringDriver::now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

Result<Socket> UringDriver::open_socket(const Address& address) {
    return make_stream_socket(address);
}

Result<Socket> UringDriver::listen(const Address& address, int backlog) {
    return make_listening_socket(address, backlog);
}

Result<Address> UringDriver::local_address(Socket socket) {
    return local_address_of(socket);
}

void UringDriver::shutdown(Socket socket) {
    CHECK(socket.open());
    (void)::shutdown(socket.number, SHUT_RDWR);
}

void UringDriver::close(Socket socket) {
    CHECK(socket.open());
    (void)::close(socket.number);
}

void UringDriver::Slot::go(SlotState to) {
    CHECK((state == SlotState::in_flight) != (to == SlotState::in_flight));
    state = to;
}

std::uint64_t UringDriver::user_data_of(std::uint32_t slot) const {
    CHECK(slot < slots_.size());
    return (std::uint64_t{slots_[slot].generation} << 32) | slot;
}

std::uint32_t UringDriver::take_slot(Op& op) {
    CHECK(free_slot_ != no_slot);  // bounded: ops_max counts every operation that can be in flight
    const std::uint32_t slot = free_slot_;
    slots_[slot].go(SlotState::in_flight);
    free_slot_ = slots_[slot].next_free;
    slots_[slot].op = &op;
    slots_[slot].behind = Duration{0};
    set_slot(op, slot);
    ++in_flight_;
    return slot;
}

void UringDriver::free_slot(Op& op) {
    const std::uint32_t slot = slot_of(op);
    CHECK(slots_[slot].op == &op);
    slots_[slot].go(SlotState::free);
    slots_[slot].op = nullptr;
    slots_[slot].generation += 1;
    slots_[slot].next_free = free_slot_;
    free_slot_ = slot;
    set_slot(op, no_slot);
    --in_flight_;
}

io_uring_sqe& UringDriver::next_entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
        (void)flush();
        entry = io_uring_get_sqe(&ring_);
    }
    CHECK(entry != nullptr);
    return *entry;
}

void UringDriver::prepare(Op& op) {
    io_uring_sqe& entry = next_entry();
    const OpSpec& spec = op.spec;
    const int number = spec.socket.number;
    CHECK(spec.kind == OpKind::cancel || spec.socket.open());
    switch (spec.kind) {
        case OpKind::connect:
            CHECK(spec.address != nullptr && spec.address->length > 0);
            io_uring_prep_connect(&entry, number, spec.address->raw(), spec.address->length);
            break;
        case OpKind::send:
            prepare_send(op, entry);
            break;
        case OpKind::receive:
            prepare_receive(op, entry);
            break;
        case OpKind::accept:
            io_uring_prep_multishot_accept(&entry, number, nullptr, nullptr, SOCK_CLOEXEC);
            break;
        case OpKind::cancel: {
            CHECK(spec.target != nullptr);
            const std::uint32_t slot = slot_of(*spec.target);
            io_uring_prep_cancel64(&entry, slot == no_slot ? UINT64_MAX : user_data_of(slot), 0);
            break;
        }
        case OpKind::stamps:
            CHECK(!"on this ring");
    }
    entry.user_data = user_data_of(slot_of(op));
    ++counters_.submits;
}

void UringDriver::submit(Op& op) {
    CHECK(!op.in_flight());
    CHECK(op.handler != nullptr);
    take_slot(op);
    start(op);
}

// Transmit stamps have ways of their own; all else goes to the ring.
void UringDriver::start(Op& op) {
    const OpSpec& spec = op.spec;
    const std::uint64_t user_data = user_data_of(slot_of(op));
    const bool of_stamps = spec.kind == OpKind::cancel && spec.target != nullptr &&
                           spec.target->spec.kind == OpKind::stamps;
    if (spec.kind == OpKind::stamps) {
        transmit_stamps_.arm(user_data, spec.socket);
        return;
    }
    if (of_stamps) {
        const std::uint32_t slot = slot_of(*spec.target);
        transmit_stamps_.cancel(slot == no_slot ? UINT64_MAX : user_data_of(slot), user_data);
        return;
    }
    prepare(op);
    if (spec.kind == OpKind::send && spec.stamps != nullptr && spec.stamps->in_flight()) {
        transmit_stamps_.expect(user_data_of(slot_of(*spec.stamps)), stamp_);
    }
}

void UringDriver::prepare_receive(Op& op, io_uring_sqe& entry) {
    CHECK(op.spec.kind == OpKind::receive);
    if (op.spec.kernel_stamps) {
        io_uring_prep_recvmsg_multishot(&entry, op.spec.socket.number, &stamped_receive_, 0);
    } else {
        io_uring_prep_recv_multishot(&entry, op.spec.socket.number, nullptr, 0, 0);
    }
    entry.flags |= IOSQE_BUFFER_SELECT;
    entry.buf_group = buffer_group;
}

int UringDriver::enter(std::uint32_t submits, std::uint32_t completions_min, std::uint32_t flags,
                       const Instant* until) {
    CHECK(ring_open_);
    io_uring_getevents_arg argument{};
    __kernel_timespec time{};
    if (ring_registered_) {
        flags |= IORING_ENTER_REGISTERED_RING;
    }
    if (until != nullptr) {
        flags |= IORING_ENTER_EXT_ARG | (absolute_wait_ ? uring_flags::enter_abs_timer : 0u) |
                 (no_iowait_ ? uring_flags::enter_no_iowait : 0u);
        time = timespec_of(absolute_wait_ ? until->ns : until->ns - now().ns);
        argument.sigmask_sz = _NSIG / 8;
        argument.ts = reinterpret_cast<std::uint64_t>(&time);
    }
    ++counters_.enters;
    return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), submits, completions_min,
                           flags,
                           until != nullptr ? reinterpret_cast<sigset_t*>(&argument) : nullptr,
                           until != nullptr ? sizeof(argument) : _NSIG / 8);
}

// -EAGAIN and -EBUSY leave entries queued; the next turn takes completions and tries again.
bool UringDriver::flush() {
    constexpr int interruptions_max = 16;
    for (int tries = 0; tries < interruptions_max; ++tries) {
        const std::uint32_t submits = publish_entries(ring_);
        if (submits == 0 || enter(submits, 0, 0, nullptr) != -EINTR) {
            break;
        }
    }
    return !has_entries(ring_);
}

// Lets completions become visible, and stamps what did. The kernel may say that it has work where
// it has none: a CPU that brings bytes raises the flag behind the work, which an enter on this one
// may have done by then. So an enter that brought nothing is followed by a look that only takes
// what is visible: the loop gets to everything else, and to sleep.
void UringDriver::look(const Turn& turn, TurnResult& result) {
    const std::uint32_t submits = publish_entries(ring_);
    const bool visible = io_uring_cq_ready(&ring_) > 0;
    const bool overflowed = (IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0;
    counters_.overflows += overflowed ? 1 : 0;
    const bool skip = std::exchange(entered_in_vain_, false) && turn.wait == Wait::none;
    if (!visible && turn.wait == Wait::sleep) {  // runs what is there before it sleeps
        const int status = enter(submits, 1, IORING_ENTER_GETEVENTS, &turn.until);
        note_entry(status);
        result.entered = true;
        result.slept = true;
    } else if (kernel_has_work(ring_) && turn.may_enter && (!visible || overflowed) && !skip) {
        const int status = enter(submits, 0, IORING_ENTER_GETEVENTS, nullptr);
        note_entry(status);
        result.entered = true;
        entered_in_vain_ = io_uring_cq_ready(&ring_) == 0;
    } else if (submits > 0) {
        (void)enter(submits, 0, 0, nullptr);
        result.entered = true;
    } else if (!visible && turn.wait == Wait::spin) {
        pause_core();
    }
    if (io_uring_cq_ready(&ring_) > 0) {
        stamp_ = now();  // before any byte is looked at
        ++batch_;
        batch_end_ = io_uring_smp_load_acquire(ring_.cq.ktail);
    }
}

// The kernel raises its flag behind the work: what is not flagged yet came after `now`.
Instant UringDriver::unread_since(Instant now) {
    const bool waiting =
        io_uring_cq_ready(&ring_) > 0 || kernel_has_work(ring_) || has_entries(ring_);
    unread_.look(now, waiting);
    return unread_.since();
}

// An entry for completions runs what there is before it waits. One that was interrupted may not
// have come so far.
void UringDriver::note_entry(int status) {
    const bool ran = status >= 0 || status == -ETIME;
    if (ran && io_uring_cq_ready(&ring_) == 0 && !has_entries(ring_)) {
        unread_.nothing_came();
    }
}

TurnResult UringDriver::turn(const Turn& turn) {
    TurnResult result;
    if (*ring_.cq.khead == batch_end_) {
        look(turn, result);
    } else if (publish_entries(ring_) > 0) {
        (void)flush();
        result.entered = true;
    }
    while (*ring_.cq.khead != batch_end_ && result.completions < turn.completions_max) {
        const unsigned head = *ring_.cq.khead;
        const io_uring_cqe entry = ring_.cq.cqes[head & *ring_.cq.kring_mask];
        io_uring_cq_advance(&ring_, 1);
        ++result.completions;
        complete(entry);
        if (turn_ends()) {
            break;
        }
    }
    CHECK(result.completions <= turn.completions_max);
    counters_.completions += result.completions;
    return result;
}

Op& UringDriver::op_of(std::uint64_t user_data) {
    const std::uint32_t slot = static_cast<std::uint32_t>(user_data);
    CHECK(slot < slots_.size() && slots_[slot].op != nullptr);
    CHECK(slots_[slot].generation == static_cast<std::uint32_t>(user_data >> 32));
    return *slots_[slot].op;
}

void UringDriver::complete(const io_uring_cqe& entry) {
    Op& op = op_of(entry.user_data);
    if (send_goes_on(op, entry.res)) {
        return;
    }
    const bool multishot = op.spec.kind == OpKind::receive || op.spec.kind == OpKind::accept;
    const bool receive = op.spec.kind == OpKind::receive;
    const bool has_buffer = (entry.flags & IORING_CQE_F_BUFFER) != 0;
    const bool more = (entry.flags & IORING_CQE_F_MORE) != 0;
    const std::uint16_t buffer = static_cast<std::uint16_t>(entry.flags >> IORING_CQE_BUFFER_SHIFT);

    Completion done;
    done.result = entry.res;
    done.stamp = stamp_;
    done.unread_since = unread_.since();
    done.batch = batch_;
    done.behind = slots_[slot_of(op)].behind;
    if (has_buffer && entry.res > 0) {
        take_bytes(entry, op, done);
    }
    const bool no_buffers = receive && entry.res == -ENOBUFS;
    const bool goes_on = receive ? done.result > 0 || no_buffers : entry.res >= 0;
    done.more = multishot && (more || goes_on);
    if (multishot && !more && goes_on) {
        prepare(op);  // same slot, same generation: the operation never ended for its owner
    } else if (!done.more) {
        free_slot(op);
    }
    CHECK(op.in_flight() == done.more);
    if (no_buffers) {
        ++counters_.no_buffers;
        return;
    }
    op.handler(op, done);
    if (has_buffer) {
        buffers_.give_back(buffer);
    }
}

}  // namespace driftless
