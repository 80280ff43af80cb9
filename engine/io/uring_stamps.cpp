// The kernel's stamps in the driver: switching them on, reading them off receives, handing transmit
// stamps over, and the clock that they are told by.

#include <sys/socket.h>
#include <time.h>

#include <algorithm>

#include "engine/io/kernel_stamps.hpp"
#include "engine/io/resends.hpp"
#include "engine/io/uring.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void UringDriver::open_stamps(const UringOptions& options) {
    stamps_wanted_ = options.stamps;
    stamped_receive_.msg_controllen = receive_control_bytes;
    (void)sample_clock();
    if (stamps_wanted_.transmit) {
        transmit_stamps_.open(options.ops_max, options.stamp_ring);
    }
    if (stamps_wanted_.receive) {
        stamp_keeper_ = open_stamp_keeper();
    }
}

// With stamps, a buffer begins with a header and the control message; the payload stands behind.
void UringDriver::take_bytes(const io_uring_cqe& entry, const Op& op, Completion& done) {
    CHECK(op.spec.kind == OpKind::receive && entry.res > 0);
    const auto buffer = static_cast<std::uint16_t>(entry.flags >> IORING_CQE_BUFFER_SHIFT);
    done.bytes = buffers_.filled(buffer, static_cast<std::size_t>(entry.res));
    if (!op.spec.kernel_stamps) {
        return;
    }
    constexpr std::size_t front = sizeof(io_uring_recvmsg_out) + receive_control_bytes;
    CHECK(done.bytes.size() >= front);
    const auto& out = *reinterpret_cast<const io_uring_recvmsg_out*>(done.bytes.data());
    msghdr control{};
    control.msg_control = const_cast<char*>(done.bytes.data()) + sizeof(io_uring_recvmsg_out);
    control.msg_controllen = std::min<std::size_t>(out.controllen, receive_control_bytes);
    const std::int64_t realtime_ns = receive_stamp_ns(control);
    done.kernel_ns = realtime_ns == 0 ? 0 : clock_.to_monotonic_ns(realtime_ns);
    done.bytes.remove_prefix(front);
    done.result = static_cast<std::int32_t>(done.bytes.size());
}

StampSupport UringDriver::switch_on_stamps(Socket socket) {
    return driftless::switch_on_stamps(socket, stamps_wanted_);
}

bool UringDriver::stamps_waiting(Instant now) {
    return stamps_wanted_.transmit && transmit_stamps_.waiting(now);
}

std::uint32_t UringDriver::collect_stamps(std::uint32_t stamps_max, const Op* first) {
    const bool armed = first != nullptr && first->in_flight();
    const std::uint64_t calls_before = transmit_stamps_.system_calls();
    transmit_stamps_.look(now(), stamps_max, armed ? user_data_of(slot_of(*first)) : 0);
    counters_.enters += transmit_stamps_.system_calls() - calls_before;
    stamps_read_ = now();
    std::uint32_t count = 0;
    TransmitStamps::Entry entry;
    for (; count < stamps_max && transmit_stamps_.next(entry); ++count) {
        complete_stamp(entry);
    }
    CHECK(count <= stamps_max);
    return count;
}

void UringDriver::complete_stamp(const TransmitStamps::Entry& entry) {
    Op& op = op_of(entry.user_data);
    CHECK(op.spec.kind == OpKind::stamps || op.spec.kind == OpKind::cancel);
    Completion done;
    done.result = entry.result;
    done.more = entry.more;
    done.key = entry.key;
    done.stamp = stamps_read_;
    if (entry.realtime_ns != 0) {
        done.kernel_ns = clock_.to_monotonic_ns(entry.realtime_ns);
    }
    if (!done.more) {
        free_slot(op);
    }
    CHECK(op.in_flight() == done.more);
    op.handler(op, done);
}

std::optional<ResendCounts> UringDriver::resent(Socket socket) {
    return read_resends(socket);
}

void UringDriver::warm_send() {
    if (warm_pair_.is_open()) {
        warm_pair_.send();
    }
}

// The second clock is read later: whoever takes the CPU in between makes the difference smaller.
std::int64_t UringDriver::suspended_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    const std::int64_t boot_ns = time.tv_sec * 1'000'000'000 + time.tv_nsec;
    suspended_ns_ = std::max(suspended_ns_, boot_ns - now().ns);
    return suspended_ns_;
}

ClockSample UringDriver::sample_clock() {
    constexpr std::size_t readings_count = 5;
    ClockReading readings[readings_count];
    timespec time{};
    for (ClockReading& reading : readings) {
        reading.before_ns = now().ns;
        ::clock_gettime(CLOCK_REALTIME, &time);
        reading.realtime_ns = time.tv_sec * 1'000'000'000 + time.tv_nsec;
        reading.after_ns = now().ns;
    }
    clock_.take(readings, readings_count);
    return clock_.sample();
}

}  // namespace driftless
