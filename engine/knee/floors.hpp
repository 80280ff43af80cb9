/// Floors: how many independent values a percentile needs. Pure.
#pragma once

#include <cstdint>

namespace driftless {

/// The least count at which, with 99 % confidence, one value above the bound is allowed: the least
/// n with P(Binomial(n, 1 - p) <= 1) < 0.01, as MLPerf's early stopping has it (p90: 64, p99: 662,
/// p99.9: 6,636). `per_mille` from 1 to 999; below the median, that of its mirror image.
std::uint64_t percentile_floor(std::uint32_t per_mille);

}  // namespace driftless
