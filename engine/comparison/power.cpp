#include <cmath>

#include "engine/comparison/compare_groups.hpp"
#include "engine/comparison/student_quantile.hpp"
#include "engine/synth/normal_quantile.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// More runs than anybody makes.
constexpr std::uint64_t runs_most = 8192;

/// The change on the scale of errors.
double effect_of(const MetricComparison& compared, double difference) {
    return compared.metric.scale() == Scale::ratio ? std::log1p(difference) : difference;
}

double rows_variance(const MetricComparison& compared) {
    return compared.error * compared.error - compared.error_between * compared.error_between;
}

}  // namespace

std::optional<double> rows_needed(const MetricComparison& compared, double difference,
                                  double confidence, double power) {
    CHECK(difference > 0 && confidence > 0.5 && confidence < 1 && power > 0.5 && power < 1);
    if (!std::isfinite(compared.error)) {
        return std::nullopt;
    }
    const double reach = normal_quantile(0.5 + confidence / 2) + normal_quantile(power);
    const double allowed = effect_of(compared, difference) / reach;
    const double for_rows = allowed * allowed - compared.error_between * compared.error_between;
    if (for_rows <= 0) {
        return std::nullopt;
    }
    return std::ceil(static_cast<double>(compared.pairs) * rows_variance(compared) / for_rows);
}

std::optional<double> runs_needed(const MetricComparison& compared, std::uint64_t runs,
                                  double difference, double confidence, double power) {
    CHECK(difference > 0 && confidence > 0.5 && confidence < 1 && power > 0.5 && power < 1);
    if (!std::isfinite(compared.error) || compared.error_between <= 0 || runs == 0) {
        return std::nullopt;
    }
    const double effect = effect_of(compared, difference);
    const double one_run =
        compared.error_between * compared.error_between * static_cast<double>(runs);
    const auto is_enough = [&](std::uint64_t count) {
        const auto more = static_cast<double>(count);
        const double freedom = 2 * (more - 1);
        const double reach =
            student_quantile(0.5 + confidence / 2, freedom) + student_quantile(power, freedom);
        return reach * std::sqrt(rows_variance(compared) + one_run / more) <= effect;
    };
    std::uint64_t low = 1;  // too few
    std::uint64_t high = 2;
    for (; !is_enough(high); low = high, high *= 2) {
        if (high >= runs_most) {
            return std::nullopt;
        }
    }
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (is_enough(middle) ? high : low) = middle;
    }
    return static_cast<double>(high);
}

}  // namespace driftless
