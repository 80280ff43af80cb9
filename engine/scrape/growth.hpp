/// What a counter grew by, as the shortest number that leads from one value to the other exactly.
/// Pure.
#pragma once

#include <optional>

namespace driftless {

/// The number of fewest digits with `from + number == to`, bit for bit, in the arithmetic of
/// doubles. Nothing where `to` is not above `from`, one of them is not finite, or the number would
/// be as long as `to` itself.
std::optional<double> growth(double from, double to);

}  // namespace driftless
