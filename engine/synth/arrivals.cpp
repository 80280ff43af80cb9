#include "engine/synth/arrivals.hpp"

#include <algorithm>
#include <cmath>

#include "proto/trace/decimal_time.hpp"

namespace driftless {
namespace {

constexpr std::uint64_t arrival_stream = 1;
constexpr double second_ns = 1e9;

}  // namespace

SynthArrivals::SynthArrivals(const ArrivalSpec& spec, std::uint64_t seed)
    : spec_(spec), random_(stream_of(seed, arrival_stream, 0)) {
    gap_.kind = LawKind::exponential;
    gap_.centre = spec.per_second > 0 ? second_ns / spec.per_second : 0;
    gap_.high = time_max_ns;
}

std::int64_t SynthArrivals::take() {
    const std::int64_t now = next_;
    ++taken_;
    if (spec_.per_second <= 0) {
        return now;
    }
    if (spec_.constant) {
        const double at = std::floor(static_cast<double>(taken_) * gap_.centre + 0.5);
        next_ = at < static_cast<double>(time_max_ns) ? static_cast<std::int64_t>(at) : time_max_ns;
    } else {
        next_ = later(now, draw(gap_, random_));
    }
    return now;
}

}  // namespace driftless
