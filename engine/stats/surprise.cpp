#include "engine/stats/surprise.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

double real(std::uint64_t count) {
    return static_cast<double>(count);
}

double log_choose(std::uint64_t of, std::uint64_t taken) {
    return std::lgamma(real(of) + 1) - std::lgamma(real(taken) + 1) -
           std::lgamma(real(of - taken) + 1);
}

}  // namespace

double log10_tail(const Overlap& o) {
    CHECK(o.marked <= o.of && o.drawn <= o.of && o.hits <= std::min(o.marked, o.drawn));
    const std::uint64_t most = std::min(o.marked, o.drawn);
    const std::uint64_t least = o.marked + o.drawn > o.of ? o.marked + o.drawn - o.of : 0;
    if (o.hits <= least) {
        return 0;
    }
    // Terms from `hits` on, each from the one before; the first in logarithms.
    const double first = log_choose(o.marked, o.hits) +
                         log_choose(o.of - o.marked, o.drawn - o.hits) - log_choose(o.of, o.drawn);
    double sum = 1;
    double term = 1;
    for (std::uint64_t k = o.hits; k < most; ++k) {
        term *= real(o.marked - k) * real(o.drawn - k) /
                (real(k + 1) * real(o.of - o.marked - o.drawn + k + 1));
        sum += term;
        if (!std::isfinite(sum)) {
            return 0;  // far below what is expected: certain, as good as
        }
    }
    return std::min((first + std::log(sum)) / std::log(10.0), 0.0);
}

double mantel_haenszel_z(std::span<const Overlap> strata) {
    double above = 0;
    double variance = 0;
    for (const Overlap& o : strata) {
        if (o.of < 2) {
            continue;
        }
        const double n = real(o.of);
        above += real(o.hits) - real(o.marked) * real(o.drawn) / n;
        variance += real(o.marked) * real(o.of - o.marked) * real(o.drawn) * real(o.of - o.drawn) /
                    (n * n * (n - 1));
    }
    return variance > 0 ? above / std::sqrt(variance) : 0;
}

}  // namespace driftless
