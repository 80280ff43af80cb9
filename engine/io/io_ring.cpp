#include "engine/io/io_ring.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>

#include "proto/core/result.hpp"

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

// The second clock is read later: whoever takes the CPU in between makes the difference smaller.
std::int64_t HostClocks::suspended_ns() {
    const std::int64_t boot_ns = read_ns(CLOCK_BOOTTIME);
    suspended_ns_ = std::max(suspended_ns_, boot_ns - read_ns(CLOCK_MONOTONIC));
    return suspended_ns_;
}

namespace {

__kernel_timespec timespec_of(std::int64_t ns) {
    const std::int64_t positive = std::max<std::int64_t>(ns, 0);
    return {positive / 1'000'000'000, positive % 1'000'000'000};
}

/// In a time namespace CLOCK_MONOTONIC may be ahead of the host's, or behind: the kernel takes an
/// instant to wait for by the host's, and so would wake us that much too late.
bool has_own_monotonic_clock() {
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

}  // namespace

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

}  // namespace driftless
