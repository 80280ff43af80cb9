/// How a CPU saves power and how the clock is read: what makes a thread wake late. Empty, nothing
/// or 0 where it cannot be read here, as in most virtual machines. Read once, never in a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

struct PowerSettings {
    std::string governor;
    std::string idle_state;            ///< the deepest that the kernel may use: "C6"
    std::int64_t idle_latency_us = 0;  ///< to leave it
    std::optional<bool> turbo;         ///< the clock rate may rise above the nominal one
};
/// `root` is where /sys is.
PowerSettings read_power_settings(std::uint32_t cpu, const std::string& root = "/sys");

struct ClockSource {
    std::string name;             ///< "tsc"
    std::int64_t reading_ns = 0;  ///< what one reading of CLOCK_MONOTONIC takes, median of many
};
ClockSource read_clock_source();

}  // namespace driftless
