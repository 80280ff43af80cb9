#include "engine/io/io_ring.hpp"

#include <poll.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "engine/host/host.hpp"
#include "engine/io/driver.hpp"

namespace driftless {

ClockSample HostClocks::sample() {
    constexpr std::size_t readings_count = 5;
    ClockReading readings[readings_count];
    for (ClockReading& reading : readings) {
        reading.before_ns = read_ns(CLOCK_MONOTONIC);
        reading.realtime_ns = read_ns(CLOCK_REALTIME);
        reading.after_ns = read_ns(CLOCK_MONOTONIC);
    }
    offset_.take(readings, readings_count);
    return offset_.sample();
}

// The second clock is read later: losing the CPU in between makes the difference smaller.
std::int64_t HostClocks::suspended_ns() {
    const std::int64_t boot_ns = read_ns(CLOCK_BOOTTIME);
    suspended_ns_ = std::max(suspended_ns_, boot_ns - read_ns(CLOCK_MONOTONIC));
    return suspended_ns_;
}

static __kernel_timespec timespec_of(std::int64_t ns) {
    const std::int64_t positive = std::max<std::int64_t>(ns, 0);
    return {positive / 1'000'000'000, positive % 1'000'000'000};
}

/// In a time namespace CLOCK_MONOTONIC may be ahead of the host's, or behind: the kernel takes an
/// instant to wait for by the host's, and so would wake us that much too late.
static bool has_own_monotonic_clock() {
    std::FILE* const file = std::fopen("/proc/self/timens_offsets", "re");
    if (file == nullptr) {
        return false;
    }
    long long seconds = 0;
    long long ns = 0;
    const int found = std::fscanf(file, "monotonic %lld %lld", &seconds, &ns);
    (void)std::fclose(file);
    return found == 2 && (seconds != 0 || ns != 0);
}

Result<void> IoRing::open(std::uint32_t submit_entries, std::uint32_t completion_entries,
                          std::uint32_t flags) {
    CHECK(!open_);
    CHECK(std::has_single_bit(submit_entries) && std::has_single_bit(completion_entries));
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE |
                   IORING_SETUP_CLAMP | flags;
    params.cq_entries = completion_entries;
    const int status = io_uring_queue_init_params(submit_entries, &ring_, &params);
    if (status == -EINVAL) {
        return Error{ErrorCode::unsupported, EINVAL, "set up io_uring (Linux 6.1 or newer)"};
    }
    if (status < 0) {
        return error_from_errno(-status, "set up io_uring");
    }
    open_ = true;
    features_.bits = params.features;
    features_.absolute_wait =
        (params.features & uring_flags::feature_min_timeout) != 0 && !has_own_monotonic_clock();
    features_.no_iowait = (params.features & uring_flags::feature_no_iowait) != 0;
    features_.registered = io_uring_register_ring_fd(&ring_) == 1;
    // A filter may allow one call of the three.
    if (const int entered = io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), 0, 0,
                                            features_.registered ? IORING_ENTER_REGISTERED_RING : 0,
                                            nullptr, _NSIG / 8);
        entered < 0) {
        close();
        return error_from_errno(-entered, "set up io_uring");
    }
    return {};
}

void IoRing::close() {
    if (open_) {
        io_uring_queue_exit(&ring_);
        open_ = false;
    }
}

int IoRing::enter(std::uint32_t completions_min, std::uint32_t flags, const Instant* until) {
    CHECK(open_);
    const std::uint32_t submits = publish();
    io_uring_getevents_arg argument{};
    __kernel_timespec time{};
    if (features_.registered) {
        flags |= IORING_ENTER_REGISTERED_RING;
    }
    if (until != nullptr) {
        flags |= IORING_ENTER_EXT_ARG |
                 (features_.absolute_wait ? uring_flags::enter_abs_timer : 0u) |
                 (features_.no_iowait ? uring_flags::enter_no_iowait : 0u);
        time = timespec_of(features_.absolute_wait ? until->ns : until->ns - HostClocks::now().ns);
        argument.sigmask_sz = _NSIG / 8;
        argument.ts = reinterpret_cast<std::uint64_t>(&time);
    }
    ++enters_;
    return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), submits, completions_min,
                           flags,
                           until != nullptr ? reinterpret_cast<sigset_t*>(&argument) : nullptr,
                           until != nullptr ? sizeof(argument) : _NSIG / 8);
}

bool IoRing::flush() {
    constexpr int interruptions_max = 16;
    for (int tries = 0; tries < interruptions_max; ++tries) {
        if (publish() == 0 || enter(0, 0) != -EINTR) {
            break;
        }
    }
    return !has_entries();
}

void OpSlots::open(std::uint32_t ops_max) {
    CHECK(slots_.empty());
    CHECK(ops_max > 0 && ops_max < Op::no_slot);
    slots_.resize(ops_max);
    for (std::uint32_t number = ops_max; number-- > 0;) {
        slots_[number].next_free = first_free_;
        first_free_ = number;
    }
}

// The kernel would leave a send that finds the socket full to a thread of its own: one that a stop
// of this process interrupts, and that has no share in its priority. So it is asked for what it can
// take at once, and where that is nothing, for when it can. What ended the wait for room, an error
// of the socket included, is told by the next try.
bool OpSlots::send_goes_on(const Op& op, std::int32_t result, Instant now, Instant unread_since) {
    CHECK(op.spec.kind == OpKind::send);
    Slot& slot = slots_[number_of(op)];
    const bool waited = slot.state == State::waiting_for_room;
    const bool is_full = !waited && result == -EAGAIN;
    if (waited || is_full) {
        slot.go(waited ? State::in_flight : State::waiting_for_room);
    }
    if (waited) {
        slot.behind =
            slot.behind + std::max(now - std::max(unread_since, slot.full_at), Duration{0});
    }
    slot.full_at = is_full ? now : slot.full_at;
    return is_full || (waited && result != -ECANCELED) || result == -EINTR;
}

OpEntries::OpEntries() {
    stamped_receive_.msg_controllen = receive_control_bytes;
}

void OpEntries::fill(io_uring_sqe& entry, const OpSpec& spec, std::uint64_t target) {
    const int number = spec.socket.number;
    CHECK(spec.kind == OpKind::cancel || spec.socket.open());
    switch (spec.kind) {
        case OpKind::connect:
            CHECK(spec.address != nullptr && spec.address->length > 0);
            io_uring_prep_connect(&entry, number, spec.address->raw(), spec.address->length);
            break;
        case OpKind::send:
            // Only what the socket has room for now: see OpSlots::send_goes_on.
            io_uring_prep_send(&entry, number, spec.bytes.data(), spec.bytes.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT | (spec.more_follows ? MSG_MORE : 0));
            break;
        case OpKind::receive:
            if (spec.kernel_stamps) {
                io_uring_prep_recvmsg_multishot(&entry, number, &stamped_receive_, 0);
            } else {
                io_uring_prep_recv_multishot(&entry, number, nullptr, 0, 0);
            }
            entry.flags |= IOSQE_BUFFER_SELECT;
            entry.buf_group = buffer_group;
            break;
        case OpKind::accept:
            io_uring_prep_multishot_accept(&entry, number, nullptr, nullptr, SOCK_CLOEXEC);
            break;
        case OpKind::cancel:
            CHECK(spec.target != nullptr);
            io_uring_prep_cancel64(&entry, target, 0);
            break;
        case OpKind::stamps:
            CHECK(!"on this ring");
    }
}

void OpEntries::fill_wait_for_room(io_uring_sqe& entry, Socket socket) {
    CHECK(socket.open());
    io_uring_prep_poll_add(&entry, socket.number, POLLOUT);
}

StampedBytes read_stamped(std::string_view filled) {
    constexpr std::size_t front = sizeof(io_uring_recvmsg_out) + receive_control_bytes;
    CHECK(filled.size() >= front);
    const auto& out = *reinterpret_cast<const io_uring_recvmsg_out*>(filled.data());
    msghdr control{};
    control.msg_control = const_cast<char*>(filled.data()) + sizeof(io_uring_recvmsg_out);
    control.msg_controllen = std::min<std::size_t>(out.controllen, receive_control_bytes);
    const std::int64_t realtime_ns = receive_stamp_ns(control);
    return {filled.substr(front), realtime_ns};
}

BufferRing::~BufferRing() {
    // The ring that the entries were registered with is gone by now: the owner of both ends it
    // first.
    if (entries_ != nullptr) {
        ::munmap(entries_, count_ * sizeof(io_uring_buf));
    }
    if (memory_ != nullptr) {
        ::munmap(memory_, bytes());
    }
}

Result<void> BufferRing::open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                              std::uint32_t buffer_bytes) {
    CHECK(entries_ == nullptr && memory_ == nullptr);
    CHECK(count > 0 && (count & (count - 1)) == 0 && count <= 32768);
    CHECK(buffer_bytes > 0);
    count_ = count;
    buffer_bytes_ = buffer_bytes;
    entries_ = static_cast<io_uring_buf_ring*>(map_touched(count * sizeof(io_uring_buf)));
    memory_ = static_cast<char*>(map_touched(bytes()));
    if (entries_ == nullptr || memory_ == nullptr) {
        return Error{ErrorCode::exhausted, errno, "take memory for receive buffers"};
    }
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(entries_);
    registration.ring_entries = count;
    registration.bgid = group;
    const int status = io_uring_register_buf_ring(&ring, &registration, 0);
    if (status < 0) {
        return error_from_errno(-status, "register receive buffers with io_uring");
    }
    io_uring_buf_ring_init(entries_);
    const int mask = io_uring_buf_ring_mask(count);
    for (std::uint32_t id = 0; id < count; ++id) {
        io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes, buffer_bytes,
                              static_cast<std::uint16_t>(id), mask, static_cast<int>(id));
    }
    io_uring_buf_ring_advance(entries_, static_cast<int>(count));
    return {};
}

void BufferRing::give_back(std::uint16_t id) {
    CHECK(id < count_);
    io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes_, buffer_bytes_, id,
                          io_uring_buf_ring_mask(count_), 0);
    io_uring_buf_ring_advance(entries_, 1);
}

static constexpr std::uint32_t submit_entries = 64;
// What a place of the ring says that the kernel has not written to since it was read.
static constexpr std::uint64_t not_written = OpSlots::nobody;
// Stamps of one socket that one look takes: a request of 500 KB has 9.
static constexpr int stamps_a_look = 16;

static std::uint32_t slot_in(std::uint64_t user_data) {
    return static_cast<std::uint32_t>(user_data);
}

void TransmitStamps::open(std::uint32_t sockets_max, bool may_use_ring, std::uint32_t entries) {
    CHECK(way_ == Way::none);
    CHECK(sockets_max > 0 && std::has_single_bit(entries));
    if (may_use_ring && open_ring(entries)) {
        way_ = Way::ring;
        return;
    }
    way_ = Way::error_queue;
    armed_.resize(sockets_max);
    found_.reserve(3 * std::size_t{sockets_max} + stamps_a_look);
}

// Completions of 32 bytes; a full queue leaves stamps with their sockets.
bool TransmitStamps::open_ring(std::uint32_t entries) {
    if (!ring_.open(submit_entries, entries, IORING_SETUP_CQE32)) {
        return false;
    }
    for (unsigned position = 0; position < ring_.raw().cq.ring_entries; ++position) {
        completion_at(position).user_data = not_written;
    }
    if (ring_works()) {
        return true;
    }
    ring_.close();
    return false;
}

// A command on a socket that has nothing to tell: a kernel that knows it keeps it until it is
// cancelled, any other ends it at once with an error.
bool TransmitStamps::ring_works() {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) {
        return false;
    }
    constexpr std::uint64_t probe = 1;
    constexpr std::uint64_t end_of_probe = 2;
    arm(probe, Socket{socket.number()});
    (void)ring_.enter(0, IORING_ENTER_GETEVENTS);
    const bool kept = !ring_.has_completions();
    if (kept) {
        cancel(probe, end_of_probe);
    }
    int ends = kept ? 2 : 1;
    constexpr int looks_max = 64;
    for (int looks = 0; ends > 0 && looks < looks_max; ++looks) {
        (void)ring_.enter(0, IORING_ENTER_GETEVENTS);
        Entry entry;
        while (ends > 0 && next(entry)) {
            --ends;
        }
    }
    return kept && ends == 0;
}

TransmitStamps::Armed* TransmitStamps::armed_of(std::uint64_t user_data) {
    const std::uint32_t slot = slot_in(user_data);
    CHECK(slot < armed_.size());
    return armed_[slot].user_data == user_data ? &armed_[slot] : nullptr;
}

void TransmitStamps::queue(Armed& armed) {
    CHECK(!armed.queued);
    expecting_.push_back(armed);
    armed.queued = true;
}

void TransmitStamps::arm(std::uint64_t user_data, Socket socket) {
    CHECK(socket.open());
    if (way_ == Way::error_queue) {
        CHECK(slot_in(user_data) < armed_.size());
        Armed& armed = armed_[slot_in(user_data)];
        CHECK(armed.user_data == 0);  // the operation that had the slot before has cancelled
        armed.user_data = user_data;
        armed.socket = socket;
        armed.tries = tries_max;
        return;
    }
    io_uring_sqe& entry = ring_.next_entry();
    io_uring_prep_rw(IORING_OP_URING_CMD, &entry, socket.number, nullptr, 0, 0);
    entry.cmd_op = uring_flags::socket_transmit_stamps;
    entry.user_data = user_data;
    (void)ring_.enter(0, 0);  // what a signal or a shortage leaves goes with the next (`waiting`)
}

void TransmitStamps::cancel(std::uint64_t target, std::uint64_t user_data) {
    CHECK(target != user_data);
    if (way_ == Way::error_queue) {
        Armed* armed = target == OpSlots::nobody ? nullptr : armed_of(target);
        if (armed != nullptr) {
            armed->user_data = 0;
            found_.push_back({target, -ECANCELED, false, 0, 0});
        }
        found_.push_back({user_data, armed != nullptr ? 0 : -ENOENT, false, 0, 0});
        return;
    }
    io_uring_sqe& entry = ring_.next_entry();
    io_uring_prep_cancel64(&entry, target, 0);
    entry.user_data = user_data;
    (void)ring_.enter(0, 0);
}

void TransmitStamps::expect(std::uint64_t user_data, Instant now) {
    if (way_ != Way::error_queue) {
        return;
    }
    Armed* armed = armed_of(user_data);
    if (armed == nullptr) {
        return;
    }
    armed->tries = 0;
    armed->due = now;
    if (!armed->queued) {
        queue(*armed);
    }
}

bool TransmitStamps::waiting(Instant now) const {
    if (way_ == Way::ring) {
        return ring_.has_completions() || ring_.kernel_has_work() || ring_.has_entries();
    }
    return found_next_ < found_.size() || (!expecting_.empty() && expecting_.first->due <= now);
}

void TransmitStamps::look(Instant now, std::uint32_t sockets_max, std::uint64_t first) {
    if (way_ == Way::ring) {
        const bool entries_left = ring_.has_entries();  // a signal, or a shortage
        if (ring_.overflowed() || entries_left ||
            (!ring_.has_completions() && ring_.kernel_has_work())) {
            (void)ring_.enter(0, IORING_ENTER_GETEVENTS);
        }
        return;
    }
    if (first != 0) {
        Armed* armed = armed_of(first);
        if (armed != nullptr) {
            read_queue_of(*armed, now);  // its place in the queue is passed over below
        }
    }
    const std::uint32_t looks = std::min(expecting_.count, sockets_max);
    for (std::uint32_t i = 0; i < looks; ++i) {
        Armed& armed = *expecting_.pop_front();
        CHECK(armed.queued);
        armed.queued = false;
        if (armed.user_data != 0 && armed.tries < tries_max && armed.due <= now) {
            read_queue_of(armed, now);
        }
        if (armed.user_data != 0 && armed.tries < tries_max) {
            queue(armed);
        }
    }
}

// Takes all that the socket's error queue holds.
void TransmitStamps::read_queue_of(Armed& armed, Instant now) {
    CHECK(armed.user_data != 0);
    TransmitStamp stamp;
    bool any = false;
    for (int i = 0; i < stamps_a_look && found_.size() < armed_.size(); ++i) {
        ++queue_reads_;
        if (!read_error_queue(armed.socket, stamp)) {
            break;
        }
        if (stamp.realtime_ns != 0) {
            any = true;
            found_.push_back({armed.user_data, 0, true, stamp.key, stamp.realtime_ns});
        }
    }
    armed.tries = any ? tries_max : std::min(armed.tries + 1, tries_max);
    armed.due = now + pause;
}

// Two places each.
io_uring_cqe& TransmitStamps::completion_at(unsigned position) {
    const io_uring_cq& queue = ring_.raw().cq;
    return queue.cqes[(position & *queue.kring_mask) << 1];
}

// Linux 6.18 (seen on 6.18.44) passes over the last place of a ring of large completions, where it
// runs out of room exactly there: it moves the tail past it and writes its filler to another place.
// What is there is the completion of one lap before. So each place is marked when it was read.
bool TransmitStamps::next(Entry& entry) {
    if (way_ == Way::error_queue) {
        CHECK(found_next_ <= found_.size());
        if (found_next_ == found_.size()) {
            found_.clear();
            found_next_ = 0;
            return false;
        }
        entry = found_[found_next_++];
        return true;
    }
    while (ring_.has_completions() && completion_at(ring_.head()).user_data == not_written) {
        ++passed_over_;
        ring_.advance();
    }
    if (!ring_.has_completions()) {
        return false;
    }
    io_uring_cqe& done = completion_at(ring_.head());
    entry = Entry{};
    entry.user_data = done.user_data;
    entry.more = (done.flags & IORING_CQE_F_MORE) != 0;
    if (entry.more) {
        entry.key = static_cast<std::uint32_t>(done.res);
        entry.realtime_ns = static_cast<std::int64_t>(done.big_cqe[0]) * 1'000'000'000 +
                            static_cast<std::int64_t>(done.big_cqe[1]);
    } else {
        entry.result = done.res;
    }
    done.user_data = not_written;
    ring_.advance();
    return true;
}

}  // namespace driftless
