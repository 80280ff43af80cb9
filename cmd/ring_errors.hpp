/// What is printed if io_uring is not available: the cause, as far as the host shows it, and the
/// remedy.
///
/// One text for all commands. Reads /proc once; prints nothing itself.
#pragma once

#include <cstdint>
#include <string>

#include "proto/core/result.hpp"

namespace driftless {

/// What forbids io_uring on this host, where that can be seen.
struct RingBars {
    bool filtered = false;    ///< a seccomp filter is on this process (/proc/self/status)
    int disabled = 0;         ///< kernel.io_uring_disabled: 0 no, 1 but for a group, 2 for all
    std::string kernel = "";  ///< its release, for kernels that are too old
    /// RLIMIT_MEMLOCK in KiB: the rings of an unprivileged process count as locked memory. 0: the
    /// limit is high enough.
    std::uint64_t locked_kib = 0;
};

RingBars read_ring_bars();

/// One line without its end: why the ring could not be set up, and what to do about it.
std::string ring_refusal(const Error& error, const RingBars& bars);

}  // namespace driftless
