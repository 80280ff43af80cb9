/// Logarithm and exponential that give the same bits on every machine: those of the C library
/// differ in the last bit between versions, and a schedule must not. Only sums, products, quotients
/// and exact scaling are used, which IEEE 754 fixes; the build forbids fused ones
/// (-ffp-contract=off). Errors are below 4 units in the last place (portable_math_test.cpp).
#pragma once

namespace driftless {

/// The natural logarithm. `x` is finite and above 0.
double portable_log(double x);

/// e^x. 0 below -700, which is less than anything that is asked for; `x` is at most 700.
double portable_exp(double x);

}  // namespace driftless
