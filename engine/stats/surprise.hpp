/// Surprise: how unlikely it is that chance alone puts so many marked rows among the drawn ones, or
/// lets two numbers of rows go together. Pure. Logarithms, because the figures go far below what a
/// double can hold.
#pragma once

#include <cstdint>
#include <span>

namespace driftless {

/// `hits` of `drawn` rows are marked, of all `of` rows `marked` are.
struct Overlap {
    std::uint64_t of = 0;
    std::uint64_t marked = 0;
    std::uint64_t drawn = 0;
    std::uint64_t hits = 0;
};

/// log10 of P(at least so many hits) by the hypergeometric law; 0 where it is certain.
double log10_tail(const Overlap& overlap);

/// z of Mantel and Haenszel over strata: whether marked rows are drawn more often within each. 0
/// where the strata say nothing.
double mantel_haenszel_z(std::span<const Overlap> strata);

/// Spearman's, equal values at their middle rank; 0 where all values of a side are equal. Both have
/// the same size, and no NaN.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// log10 of P(a standard normal value is at least so far from 0).
double log10_two_sided(double z);

}  // namespace driftless
