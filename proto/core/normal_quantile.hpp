/// The normal quantile, of operations that IEEE 754 rounds alike everywhere (portable_math.hpp), so
/// that a seed gives the same trace on every machine. Pure.
#pragma once

namespace driftless {

/// The x with P(normal <= x) = p, 0 < p < 1. Source: Wichura, algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988); its relative error is about 1e-16.
double normal_quantile(double p);

}  // namespace driftless
