#include "engine/meet/clock_difference.hpp"

#include <sys/timex.h>
#include <time.h>

namespace driftless {

namespace {

/// Stamps of a stranger may be anything: beyond this no arithmetic is done with them. Of the year
/// 2116, and far from where sums of two overflow.
constexpr std::int64_t stamp_ns_max = std::int64_t{1} << 62;

std::int64_t read_realtime(const void*) {
    timespec time{};
    (void)::clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_possible(const ClockExchange& one) {
    for (const std::int64_t stamp : {one.t1_ns, one.t2_ns, one.t3_ns, one.t4_ns}) {
        if (stamp < 0 || stamp > stamp_ns_max) {
            return false;
        }
    }
    return one.t1_ns <= one.t4_ns && one.t2_ns <= one.t3_ns &&
           one.t3_ns - one.t2_ns <= one.t4_ns - one.t1_ns;
}

}  // namespace

MeetClock realtime_clock() {
    return {read_realtime, nullptr};
}

std::optional<ClockDifference> difference_of(std::span<const ClockExchange> exchanges) {
    std::optional<ClockDifference> best;
    for (const ClockExchange& one : exchanges) {
        if (!is_possible(one)) {
            continue;
        }
        const std::int64_t round_trip_ns = (one.t4_ns - one.t1_ns) - (one.t3_ns - one.t2_ns);
        if (best && round_trip_ns >= best->round_trip_ns) {
            continue;
        }
        // Halves are taken of small numbers: the sum of two stamps would overflow.
        const std::int64_t there_ns = one.t1_ns - one.t2_ns;
        const std::int64_t back_ns = one.t4_ns - one.t3_ns;
        best = {there_ns + (back_ns - there_ns) / 2, (round_trip_ns + 1) / 2, round_trip_ns};
    }
    return best;
}

std::optional<std::int64_t> kernel_clock_error_ns() {
    timex facts{};
    const int state = ::adjtimex(&facts);
    if (state == -1 || state == TIME_ERROR || (facts.status & STA_UNSYNC) != 0) {
        return {};
    }
    return std::int64_t{facts.maxerror} * 1'000;
}

}  // namespace driftless
