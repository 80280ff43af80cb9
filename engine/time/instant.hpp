/// Instant and Duration: integers of nanoseconds that cannot be mixed up.
///
/// An Instant is a reading of CLOCK_MONOTONIC (or of the simulator's virtual clock); it says
/// nothing about the time of day. Arithmetic is that of int64; 292 years do not overflow in a run.
#pragma once

#include <compare>
#include <cstdint>

namespace driftless {

struct Duration {
    std::int64_t ns = 0;
    constexpr auto operator<=>(const Duration&) const = default;
};

struct Instant {
    std::int64_t ns = 0;
    constexpr auto operator<=>(const Instant&) const = default;
};

constexpr Duration operator-(Instant a, Instant b) {
    return {a.ns - b.ns};
}
constexpr Instant operator+(Instant a, Duration d) {
    return {a.ns + d.ns};
}
constexpr Instant operator-(Instant a, Duration d) {
    return {a.ns - d.ns};
}
constexpr Duration operator+(Duration a, Duration b) {
    return {a.ns + b.ns};
}
constexpr Duration operator-(Duration a, Duration b) {
    return {a.ns - b.ns};
}

constexpr Duration microseconds(std::int64_t n) {
    return {n * 1000};
}
constexpr Duration milliseconds(std::int64_t n) {
    return {n * 1'000'000};
}
constexpr Duration seconds(std::int64_t n) {
    return {n * 1'000'000'000};
}

/// Later than everything: "no deadline".
inline constexpr Instant never{INT64_MAX / 2};

}  // namespace driftless
