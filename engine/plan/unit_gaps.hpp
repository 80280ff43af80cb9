/// UnitGaps: the gaps of an arrival process whose mean gap is 1, by their number.
///
/// Gap i depends on the law, the seed and i alone, on every machine: who sends every Nth row of a
/// trace takes its gaps from the same sequence as who sends all of them.
#pragma once

#include <cstdint>

namespace driftless {

enum class ArrivalLaw : std::uint8_t {
    constant,  ///< all gaps are 1
    poisson,   ///< exponential
    gamma,     ///< of a shape: 1 is exponential, below 1 burstier, above 1 more even
    recorded,  ///< as the trace has them; none is drawn
};

/// Bounds of the shape of a gamma law: at the least, one gap in a thousand is longer than 0.001; at
/// the most, gaps differ by a thousandth.
inline constexpr double gamma_shape_min = 0.01;
inline constexpr double gamma_shape_max = 1e6;

class UnitGaps {
  public:
    /// `shape`: of a gamma law, within its bounds.
    UnitGaps(ArrivalLaw law, double shape, std::uint64_t seed);

    /// The gap in front of arrival `number`, from 1 on.
    double gap(std::uint64_t number) const;

  private:
    ArrivalLaw law_;
    double shape_;
    std::uint64_t seed_;
};

}  // namespace driftless
