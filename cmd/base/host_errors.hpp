/// What is said of a host that refuses something, and what was found of it: the cause and the
/// remedy, in one text for all commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

// What is printed if io_uring is not available: the cause, as far as the host shows it, and the
// remedy.
//
// One text for all commands. Reads /proc once; prints nothing itself.

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

// What the kernel grants a ring of ours, asked by making one. For `--version` and `doctor`; a
// replay notes the same of its own ring in run.json.

struct RingProbe {
    /// Name and value, as in run.json; empty where there is no ring.
    std::vector<std::pair<std::string, std::string>> features;
    std::string refusal;  ///< why there is none, and the remedy; empty: there is one

    /// The empty text where there is no such feature.
    std::string_view feature(std::string_view name) const;
    /// "registered ring, absolute wait; kernel stamps: io_uring, receive": what is granted.
    std::string text() const;
};

/// Makes a small ring, and ends it.
RingProbe probe_ring();

// What `--cpu` says where a thread cannot be pinned. Shared by `replay`, `mock` and `calibrate`.

/// The message without the program's name; it names the CPUs that this process may use.
std::string pinning_refusal(std::uint32_t cpu, const Error& error);

// What `--realtime` says where it is not granted. Shared by `replay` and `calibrate`.

inline constexpr const char* realtime_refusal =
    "--realtime: this user is not allowed to raise priorities; allow it (ulimit -r 50, or the "
    "capability CAP_SYS_NICE), or remove the flag";

// HostFinding: one thing that was looked at on this host, what was found, and what to do about it.
// A plain value; `doctor` prints all of them, `calibrate` those that are not as they should be.

enum class Grade : std::uint8_t {
    ok,
    warning,  ///< a replay runs, but less exactly, or less of it
    fault,    ///< a replay cannot run
};
/// "ok", "warning" or "fault". Static storage.
const char* name_of(Grade grade);

struct HostFinding {
    Grade grade = Grade::ok;
    const char* topic = "";  ///< "governor"; static storage
    std::string found;
    std::string remedy;  ///< one line; empty where all is well
};

}  // namespace driftless
