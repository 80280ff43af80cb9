// Making and ending the driver: what the kernel is asked for, and what it granted.

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>

#include "engine/io/sockets.hpp"
#include "engine/io/uring.hpp"
#include "engine/io/uring_flags.hpp"
#include "proto/core/check.hpp"

namespace driftless {

Result<std::unique_ptr<UringDriver>> UringDriver::make(const UringOptions& options) {
    std::unique_ptr<UringDriver> driver(new UringDriver());
    const Result<void> opened = driver->open(options);
    if (!opened) {
        return opened.error();
    }
    return driver;
}

Result<void> UringDriver::open(const UringOptions& options) {
    CHECK(!ring_open_);
    CHECK(options.ops_max > 0 && std::has_single_bit(options.submit_entries));
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE |
                   IORING_SETUP_CLAMP;
    // Two completions an operation never overflow: receives end one by one and are re-armed.
    params.cq_entries = std::bit_ceil(std::max(options.ops_max * 2, options.submit_entries * 2));
    const int status = io_uring_queue_init_params(options.submit_entries, &ring_, &params);
    if (status == -EINVAL) {
        return Error{ErrorCode::unsupported, EINVAL, "set up io_uring (Linux 6.1 or newer)"};
    }
    if (status < 0) {
        return error_from_errno(-status, "set up io_uring");
    }
    ring_open_ = true;
    kernel_features_ = params.features;
    absolute_wait_ = (params.features & uring_flags::feature_min_timeout) != 0;
    no_iowait_ = (params.features & uring_flags::feature_no_iowait) != 0;
    ring_registered_ = io_uring_register_ring_fd(&ring_) == 1;
    slots_.resize(options.ops_max);
    for (std::uint32_t slot = options.ops_max; slot-- > 0;) {
        slots_[slot].next_free = free_slot_;
        free_slot_ = slot;
    }
    stamp_ = now();
    unread_ = UnreadWatch(stamp_);
    open_stamps(options);
    if (options.warm_sends) {
        (void)warm_pair_.open();  // `features` says whether it stands
    }
    return buffers_.open(ring_, buffer_group, options.buffers, options.buffer_bytes);
}

UringDriver::~UringDriver() {
    CHECK(in_flight_ == 0);
    if (stamp_keeper_ >= 0) {
        ::close(stamp_keeper_);
    }
    if (ring_open_) {
        io_uring_queue_exit(&ring_);
    }
}

std::vector<std::pair<std::string, std::string>> UringDriver::features() const {
    const auto yes_no = [](bool yes) { return std::string(yes ? "yes" : "no"); };
    char bits[16] = {};
    std::snprintf(bits, sizeof(bits), "0x%x", kernel_features_);
    return {{"features", bits},
            {"single_issuer", "yes"},
            {"defer_taskrun", "yes"},
            {"registered_ring", yes_no(ring_registered_)},
            {"absolute_wait", yes_no(absolute_wait_)},
            {"no_iowait", yes_no(no_iowait_)},
            {"submission_entries", std::to_string(ring_.sq.ring_entries)},
            {"completion_entries", std::to_string(ring_.cq.ring_entries)},
            {"receive_buffer_bytes", std::to_string(buffers_.bytes())},
            {"transmit_stamps", transmit_stamps()},
            {"receive_stamps", yes_no(receive_stamps())},
            {"warm_sends", yes_no(warm_pair_.is_open())}};
}

}  // namespace driftless
