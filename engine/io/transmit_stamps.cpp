#include "engine/io/transmit_stamps.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/op_slots.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t submit_entries = 64;
// What a place of the ring says that the kernel has not written to since it was read.
constexpr std::uint64_t not_written = OpSlots::nobody;
// Stamps of one socket that one look takes: a request of 500 KB has 9.
constexpr int stamps_a_look = 16;

std::uint32_t slot_in(std::uint64_t user_data) {
    return static_cast<std::uint32_t>(user_data);
}

}  // namespace

void TransmitStamps::open(std::uint32_t sockets_max, bool may_use_ring, std::uint32_t entries) {
    CHECK(way_ == Way::none);
    CHECK(sockets_max > 0 && std::has_single_bit(entries));
    if (may_use_ring && open_ring(entries)) {
        way_ = Way::ring;
        return;
    }
    way_ = Way::error_queue;
    armed_.resize(sockets_max);
    expecting_.resize(sockets_max);
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
    const int number = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) {
        return false;
    }
    constexpr std::uint64_t probe = 1;
    constexpr std::uint64_t end_of_probe = 2;
    arm(probe, Socket{number});
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
    ::close(number);
    return kept && ends == 0;
}

TransmitStamps::Armed* TransmitStamps::armed_of(std::uint64_t user_data) {
    const std::uint32_t slot = slot_in(user_data);
    CHECK(slot < armed_.size());
    return armed_[slot].user_data == user_data ? &armed_[slot] : nullptr;
}

void TransmitStamps::queue(std::uint32_t slot) {
    CHECK(!armed_[slot].queued);
    CHECK(expecting_count_ < expecting_.size());
    expecting_[(expecting_first_ + expecting_count_) % expecting_.size()] = slot;
    ++expecting_count_;
    armed_[slot].queued = true;
}

void TransmitStamps::arm(std::uint64_t user_data, Socket socket) {
    CHECK(socket.open());
    if (way_ == Way::error_queue) {
        CHECK(slot_in(user_data) < armed_.size());
        Armed& armed = armed_[slot_in(user_data)];
        CHECK(armed.user_data == 0);  // whoever had the slot before has cancelled
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
        queue(slot_in(user_data));
    }
}

bool TransmitStamps::waiting(Instant now) const {
    if (way_ == Way::ring) {
        return ring_.has_completions() || ring_.kernel_has_work() || ring_.has_entries();
    }
    return found_next_ < found_.size() ||
           (expecting_count_ > 0 && armed_[expecting_[expecting_first_]].due <= now);
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
    const std::size_t looks = std::min<std::size_t>(expecting_count_, sockets_max);
    for (std::size_t i = 0; i < looks; ++i) {
        const std::uint32_t slot = expecting_[expecting_first_];
        CHECK(armed_[slot].queued);
        expecting_first_ = (expecting_first_ + 1) % expecting_.size();
        --expecting_count_;
        Armed& armed = armed_[slot];
        armed.queued = false;
        if (armed.user_data != 0 && armed.tries < tries_max && armed.due <= now) {
            read_queue_of(armed, now);
        }
        if (armed.user_data != 0 && armed.tries < tries_max) {
            queue(slot);
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
// What stands there is the completion of one lap before. So each place is marked when it was read.
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

const char* name_of(TransmitStamps::Way way) {
    switch (way) {
        case TransmitStamps::Way::none:
            return "no";
        case TransmitStamps::Way::ring:
            return "io_uring";
        case TransmitStamps::Way::error_queue:
            return "error queue";
    }
    return "";
}

}  // namespace driftless
