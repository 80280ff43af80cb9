// Making the driver: what the kernel is asked for, and what it granted.

#include <algorithm>
#include <bit>
#include <cstdio>

#include "engine/io/uring.hpp"
#include "proto/core/check.hpp"

namespace driftless {

UringOptions UringOptions::small() {
    UringOptions options;
    options.ops_max = 256;
    options.submit_entries = 64;
    options.buffers = 64;
    return options;
}

Result<std::unique_ptr<UringDriver>> UringDriver::make(const UringOptions& options) {
    std::unique_ptr<UringDriver> driver(new UringDriver());
    const Result<void> opened = driver->open(options);
    if (!opened) {
        return opened.error();
    }
    return driver;
}

Result<void> UringDriver::open(const UringOptions& options) {
    CHECK(options.ops_max > 0);
    // Two completions an operation never overflow: receives end one by one and are re-armed.
    const std::uint32_t completions =
        std::bit_ceil(std::max(options.ops_max * 2, options.submit_entries * 2));
    const Result<void> opened = ring_.open(options.submit_entries, completions);
    if (!opened) {
        return opened.error();
    }
    slots_.open(options.ops_max);
    stamp_ = now();
    unread_ = UnreadWatch(stamp_);
    (void)sample_clock();
    stamps_wanted_ = options.stamps;
    if (stamps_wanted_.transmit) {
        transmit_stamps_.open(options.ops_max, options.stamp_ring);
    }
    if (stamps_wanted_.receive) {
        (void)stamp_keeper_.open();  // `receive_stamps` says whether it stands
    }
    if (options.warm_sends) {
        (void)warm_pair_.open();  // `features` says whether it stands
    }
    return buffers_.open(ring_.raw(), OpEntries::buffer_group, options.buffers,
                         options.buffer_bytes);
}

std::vector<std::pair<std::string, std::string>> UringDriver::features() const {
    const auto yes_no = [](bool yes) { return std::string(yes ? "yes" : "no"); };
    const IoRingFeatures& ring = ring_.features();
    char bits[16] = {};
    std::snprintf(bits, sizeof(bits), "0x%x", ring.bits);
    return {{"features", bits},
            {"single_issuer", "yes"},
            {"defer_taskrun", "yes"},
            {"registered_ring", yes_no(ring.registered)},
            {"absolute_wait", yes_no(ring.absolute_wait)},
            {"no_iowait", yes_no(ring.no_iowait)},
            {"submission_entries", std::to_string(ring_.raw().sq.ring_entries)},
            {"completion_entries", std::to_string(ring_.raw().cq.ring_entries)},
            {"receive_buffer_bytes", std::to_string(buffers_.bytes())},
            {"transmit_stamps", transmit_stamps()},
            {"receive_stamps", yes_no(receive_stamps())},
            {"warm_sends", yes_no(warm_pair_.is_open())}};
}

}  // namespace driftless
