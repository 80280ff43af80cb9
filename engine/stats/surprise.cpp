#include "engine/stats/surprise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

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

/// Ranks from 0, less their mean.
std::vector<double> centred_ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&values](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        while (to < order.size() && values[order[to]] == values[order[from]]) {
            ++to;
        }
        for (std::size_t i = from; i < to; ++i) {
            ranks[order[i]] = (real(from) + real(to) - real(order.size())) / 2;
        }
    }
    return ranks;
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

double rank_correlation(std::span<const double> a, std::span<const double> b) {
    CHECK(a.size() == b.size());
    const std::vector<double> ranks_a = centred_ranks(a);
    const std::vector<double> ranks_b = centred_ranks(b);
    const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double spread = std::sqrt(product(ranks_a, ranks_a) * product(ranks_b, ranks_b));
    return spread > 0 ? product(ranks_a, ranks_b) / spread : 0;
}

double log10_two_sided(double z) {
    constexpr double far = 30;  // erfc underflows beyond 38; here the first term is exact to 0.001
    return z < far ? std::log10(std::erfc(z / std::numbers::sqrt2))
                   : -z * z / 2 * std::numbers::log10e -
                         std::log10(z * std::sqrt(std::numbers::pi / 2));
}

}  // namespace driftless
