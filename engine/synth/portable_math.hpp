/// Logarithm, exponential and normal quantile of additions, multiplications, divisions and square
/// roots alone: IEEE 754 rounds those alike everywhere, and the functions of a C library do not. So
/// a seed gives the same trace on every machine. Pure.
#pragma once

namespace driftless {

/// Natural logarithm; x > 0 and finite. Within 4e-16 of the true one, relative.
double portable_log(double x);

/// e^x; |x| <= 700. Within 4e-16, relative.
double portable_exp(double x);

/// The x with P(normal <= x) = p, 0 < p < 1. Source: Wichura, algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988); its relative error is about 1e-16.
double normal_quantile(double p);

}  // namespace driftless
