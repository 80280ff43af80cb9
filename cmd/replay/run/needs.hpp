/// Needs: what a whole plan will take from this host, estimated before time 0, so that a limit of
/// the host is reported with its remedy while it can still be raised. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cmd/replay/run/host_choice.hpp"
#include "engine/plan/plan.hpp"
#include "engine/schedule/waits.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// The most requests that are open at one instant, each on a connection of its own.
struct OpenEstimate {
    std::uint64_t most = 0;
    std::int64_t at_ns = 0;  ///< run time of the first such instant
};
OpenEstimate open_estimate(const Plan& plan, const Trace& trace,
                           std::int64_t token_ns = token_ns_estimated);

/// A warning if more requests are estimated to be open than the host has room for; else empty.
std::string open_warning(const OpenEstimate& estimate, const ConnectionRoom& room);

/// Bodies are held from arming until the kernel has taken them. Within this time as many are built
/// and handed over as the memory for them can hold (64 MiB at 1.3 GB/s: half of what building
/// reaches, and a 10 Gbit/s interface).
inline constexpr std::int64_t bodies_turnover_ns = 50'000'000;

/// The most bytes that are due within any stretch of that length, its end left out. `bytes` is
/// that of each row of the plan.
std::uint64_t bytes_within(const Plan& plan, const std::vector<std::size_t>& bytes,
                           std::int64_t stretch_ns);

/// Bytes for events (engine/record/ring.hpp), so that the writer may stall. All that the plan
/// brings, or what its busiest second brings, by `dues_known`: not where rows wait for others,
/// which may all come within one second. Four times that: retries, longer texts, answers that come
/// together. `lengths_known`: no answer is longer than the trace says. Between the two bounds
/// below.
std::size_t event_ring_bytes(const Plan& plan, const Trace& trace, bool lengths_known,
                             bool dues_known);
/// A few of the largest events that an answer may have (answer_limits.hpp), whatever the plan says.
inline constexpr std::size_t event_ring_bytes_min = std::size_t{8} << 20;
/// 0.2 s of 500 k chunks/s at 320 bytes each; the writer takes that in the same time.
inline constexpr std::size_t event_ring_bytes_max = std::size_t{32} << 20;
/// Of a row, its head and its entries; of a token, its event. Twice to three times what is common.
inline constexpr std::size_t row_event_bytes = 2048;
inline constexpr std::size_t token_event_bytes = 1024;

/// A warning if `needed` bytes of bodies are due at once and there is only room for `room`; else
/// empty.
std::string bodies_warning(std::uint64_t needed, std::uint64_t room);

}  // namespace driftless
