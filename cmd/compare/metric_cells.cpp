#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cmd/compare/screen.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

constexpr const char* nothing = "-";

/// Four figures or more, and three decimals at most.
std::string value_text(double value) {
    const double size = std::fabs(value);
    return with_commas(value, size >= 1000 ? 1 : size >= 10 ? 2 : 3);
}

std::string shown(const ComparedMetric& metric, double value) {
    if (std::isnan(value)) {
        return nothing;
    }
    switch (metric.unit()) {
        case MetricUnit::ns:
            return value_text(value / ns_per_ms);
        case MetricUnit::share:
            return fixed(100 * value, 2);
        case MetricUnit::per_second:
            return value_text(value);
    }
    return nothing;
}

const char* unit_of(const ComparedMetric& metric) {
    switch (metric.unit()) {
        case MetricUnit::ns:
            return "ms";
        case MetricUnit::share:
            return "%";
        case MetricUnit::per_second:
            return "1/s";
    }
    return "";
}

/// A ratio, or a difference in percentage points.
std::string change_text(const ComparedMetric& metric, double change) {
    if (std::isnan(change)) {
        return nothing;
    }
    if (metric.scale() == Scale::difference) {
        return fmt::format("{:+.2f}", 100 * change);
    }
    return std::isinf(change) || change >= 1000 ? "> 1000" : fixed(change, change < 10 ? 3 : 1);
}

std::string smallest_text(const MetricComparison& metric) {
    if (std::isnan(metric.smallest)) {
        return nothing;
    }
    const double percent = 100 * metric.smallest;
    const std::string text = percent < 1000 ? fixed(percent, percent < 10 ? 2 : 1) : "> 1000";
    return text + (metric.metric.scale() == Scale::difference ? " pt" : " %");
}

/// Where there is no interval, why; short enough for its column.
std::string interval_text(const MetricComparison& metric) {
    switch (metric.doubt) {
        case Doubt::below_floor:
            return fmt::format("needs {} values", metric.floor);
        case Doubt::no_values:
            return "not measured";
        case Doubt::few_units:
            return "too few units";
        case Doubt::few_blocks:
            return "long dependence";
        case Doubt::undefined:
            return "A is 0";
        default:
            break;
    }
    if (std::isnan(metric.low) || std::isnan(metric.high)) {
        return nothing;
    }
    return change_text(metric.metric, metric.low) + " to " +
           change_text(metric.metric, metric.high);
}

}  // namespace

std::string comparison_sentence(const GroupComparison& groups) {
    std::array<std::size_t, 4> shown{};
    std::array<std::size_t, 4> words{};
    for (const MetricComparison& one : groups.metrics) {
        ++shown[static_cast<std::size_t>(one.in_these_runs)];
        ++words[static_cast<std::size_t>(one.word)];
    }
    const auto count = [](const auto& counts, auto of) {
        return counts[static_cast<std::size_t>(of)];
    };
    const std::size_t all = groups.metrics.size();
    return groups.doubt == Doubt::client ? fmt::format("unsure: {}", text_of(groups.doubt))
           : is_of_evidence(groups.doubt)
               ? fmt::format(
                     "in these runs B is higher in {}, lower in {} of {} metrics; {}, so "
                     "nothing is said of other runs",
                     count(shown, Shown::higher), count(shown, Shown::lower), all,
                     text_of(groups.doubt))
               : fmt::format("B is better in {}, worse in {}, the same in {} of {} metrics",
                             count(words, Word::better), count(words, Word::worse),
                             count(words, Word::same), all);
}

std::vector<std::string> metric_titles(const GroupComparison& groups) {
    const char* last = is_of_evidence(groups.doubt) ? "these runs" : "B is";
    return {"", "", "A", "B", "B / A", "95 % interval", "n_eff", "smallest", last};
}

std::vector<std::string> metric_cells(const MetricComparison& metric,
                                      const GroupComparison& groups) {
    const ComparedMetric& what = metric.metric;
    return {what.name(),
            unit_of(what),
            shown(what, metric.a),
            shown(what, metric.b),
            change_text(what, metric.change),
            interval_text(metric),
            metric.n_eff > 0 ? with_commas(metric.n_eff, 0) : nothing,
            smallest_text(metric),
            is_of_evidence(groups.doubt) ? name_of(metric.in_these_runs) : name_of(metric.word)};
}

}  // namespace driftless
