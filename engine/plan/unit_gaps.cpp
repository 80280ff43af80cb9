#include "engine/plan/unit_gaps.hpp"

#include <cmath>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/portable_math.hpp"

namespace driftless {

namespace {

constexpr std::uint64_t gap_stream = 3;  ///< beside those of load.cpp

/// Uniform in (0, 1]: it has a logarithm.
double above_zero(Random& random) {
    return 1.0 - random.uniform();
}

double exponential(Random& random) {
    return -portable_log(above_zero(random));
}

/// One of the two that the polar method makes (Marsaglia, Bray 1964).
double normal(Random& random) {
    while (true) {  // ends: each turn with a chance of 0.785
        const double x = 2 * random.uniform() - 1;
        const double y = 2 * random.uniform() - 1;
        const double square = x * x + y * y;
        if (square > 0 && square < 1) {
            return x * std::sqrt(-2 * portable_log(square) / square);
        }
    }
}

/// Of a shape of 1 or more, mean: the shape (Marsaglia, Tsang, TOMS 2000).
double gamma_from_one(double shape, Random& random) {
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {  // ends: each turn with a chance above 0.95
        const double x = normal(random);
        const double root = 1 + c * x;
        const double cube = root * root * root;
        if (cube <= 0) {
            continue;
        }
        const double bound = x * x / 2 + d - d * cube + d * portable_log(cube);
        if (portable_log(above_zero(random)) < bound) {
            return d * cube;
        }
    }
}

double gamma(double shape, Random& random) {
    if (shape >= 1) {
        return gamma_from_one(shape, random);
    }
    const double larger = gamma_from_one(shape + 1, random);
    return larger * portable_exp(portable_log(above_zero(random)) / shape);
}

}  // namespace

UnitGaps::UnitGaps(ArrivalLaw law, double shape, std::uint64_t seed)
    : law_(law), shape_(shape), seed_(mix64(mix64(seed + golden_gamma) + gap_stream)) {
    CHECK(law != ArrivalLaw::gamma || (shape >= gamma_shape_min && shape <= gamma_shape_max));
}

double UnitGaps::gap(std::uint64_t number) const {
    Random random(seed_ ^ mix64(number + golden_gamma));
    switch (law_) {
        case ArrivalLaw::constant:
            return 1;
        case ArrivalLaw::poisson:
            return exponential(random);
        case ArrivalLaw::gamma:
            return gamma(shape_, random) / shape_;
        case ArrivalLaw::recorded:
            break;
    }
    CHECK(false);
    return 0;
}

}  // namespace driftless
