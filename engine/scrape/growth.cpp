#include "engine/scrape/growth.hpp"

#include <charconv>
#include <cmath>

namespace driftless {

namespace {

/// A double has 17 digits at most; a growth of more than these saves nothing.
constexpr int digits_max = 15;

double rounded(double value, int digits) {
    char text[32];
    const std::to_chars_result end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
    double read = value;
    (void)std::from_chars(text, end.ptr, read);
    return read;
}

}  // namespace

/// A server adds decimals or small parts to a large sum: `to - from` has digits that are of the
/// rounding alone, and the sum does not need them to come out the same.
std::optional<double> growth(double from, double to) {
    if (!std::isfinite(from) || !std::isfinite(to) || to <= from) {
        return std::nullopt;
    }
    const double exact = to - from;
    if (std::trunc(exact) == exact && from + exact == to) {
        return exact;
    }
    for (int digits = 1; digits <= digits_max; ++digits) {
        if (const double shorter = rounded(exact, digits); from + shorter == to) {
            return shorter;
        }
    }
    return std::nullopt;
}

}  // namespace driftless
