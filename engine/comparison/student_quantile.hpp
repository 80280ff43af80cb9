/// The quantile of Student's t. Pure.
#pragma once

namespace driftless {

/// The x with P(t <= x) = p, 0 < p < 1, of any `freedom` from 1 on. Relative error below 1e-9, held
/// against SciPy (tests/data/comparison/make.py). By bisection on the incomplete beta function,
/// whose continued fraction is that of Abramowitz and Stegun 26.5.8.
double student_quantile(double p, double freedom);

}  // namespace driftless
