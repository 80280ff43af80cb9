#include "engine/knee/floors.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr double doubt = 0.01;

}  // namespace

std::uint64_t percentile_floor(std::uint32_t per_mille) {
    CHECK(per_mille > 0 && per_mille < 1000);
    const double p = std::max(per_mille, 1000 - per_mille) / 1000.0;
    const double q = 1 - p;
    std::uint64_t count = 2;
    // At most 6,636 turns, for 999.
    for (;; ++count) {
        const auto n = static_cast<double>(count);
        const double at_most_one = std::pow(p, n) + n * q * std::pow(p, n - 1);
        if (at_most_one < doubt) {
            return count;
        }
    }
}

}  // namespace driftless
