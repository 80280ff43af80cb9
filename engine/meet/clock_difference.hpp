/// ClockDifference: how far the clock of this host is from that of another, by exchanges of four
/// stamps (NTP, RFC 5905 section 8): sent by us (t1), received (t2) and answered (t3) there,
/// received by us (t4).
///
/// Half of the time on the way is the most by which an exchange can be wrong, however unequal the
/// two ways are. So the exchange that was on the way for the shortest time says most. Pure, but for
/// `kernel_clock_error_ns`; the clocks are their reader's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace driftless {

/// Whose clock is compared: ns of CLOCK_REALTIME, or a test's own.
struct MeetClock {
    std::int64_t (*read)(const void* self) = nullptr;
    const void* self = nullptr;
    std::int64_t now() const { return read(self); }
};
/// CLOCK_REALTIME.
MeetClock realtime_clock();

struct ClockExchange {
    std::int64_t t1_ns = 0;  ///< our clock
    std::int64_t t2_ns = 0;  ///< theirs
    std::int64_t t3_ns = 0;  ///< theirs
    std::int64_t t4_ns = 0;  ///< ours
};

struct ClockDifference {
    std::int64_t offset_ns = 0;      ///< our clock less theirs: above 0 where ours is ahead
    std::int64_t error_ns = 0;       ///< the truth is within this, either way
    std::int64_t round_trip_ns = 0;  ///< on the way, both ways
};

/// So many exchanges are made; the first ones find the path cold.
inline constexpr std::size_t clock_exchanges = 32;

/// By the exchange with the least round trip. Nothing where none makes sense: a clock was set while
/// they went on, or the other side tells stamps that cannot be.
std::optional<ClockDifference> difference_of(std::span<const ClockExchange> exchanges);

/// How wrong the kernel holds CLOCK_REALTIME to be at most (adjtimex, `maxerror`), of a clock that
/// NTP or PTP steers; nothing where nobody does (STA_UNSYNC).
std::optional<std::int64_t> kernel_clock_error_ns();

}  // namespace driftless
