/// The long-run variance of a series whose values depend on their neighbours, and how long the
/// blocks must be that keep this dependence when they are drawn. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace driftless {

struct LongRun {
    /// Of Politis and White (2004, with the correction of Patton, Politis and White 2009) for
    /// circular blocks; from 1 to a third of the series, and to 3 sqrt(n). 1 where no value depends
    /// significantly on one before it.
    double block = 1;
    /// The same without an upper bound: how long blocks would have to be. 1 also where neighbours
    /// are opposed, because short blocks then show too much and not too little.
    double reach = 1;
    /// n x the variance of the mean, with the flat-top lag window of the same papers; 0 where all
    /// values are equal. May be below 0 where neighbours are opposed.
    double variance = 0;
};

/// The values are taken around their mean. At most 4 sqrt(n) passes over the series.
LongRun long_run_of(std::span<const double> series);

/// What circular blocks of `block` values would say of that variance.
double block_variance(std::span<const double> series, std::size_t block);

}  // namespace driftless
