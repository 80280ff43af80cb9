#include "engine/comparison/compared_metric.hpp"

#include <charconv>

namespace driftless {

namespace {

struct Named {
    std::string_view name;
    ComparedFigure figure;
};
/// The first name of a figure is the one that it is printed with.
constexpr std::array<Named, 8> figures{{
    {"errors", ComparedFigure::errors},
    {"good", ComparedFigure::good},
    {"goodput", ComparedFigure::goodput},
    {"request_goodput", ComparedFigure::goodput},
    {"request_throughput", ComparedFigure::request_throughput},
    {"throughput", ComparedFigure::request_throughput},
    {"output_throughput", ComparedFigure::output_throughput},
    {"total_token_throughput", ComparedFigure::total_throughput},
}};
constexpr std::array<std::string_view, row_value_count> value_names{"ttft", "ttft_due", "tpot",
                                                                    "e2e"};

/// "99", "99.9": per mille; nothing where it is not such a number, or not from 0.1 to 99.9.
std::optional<std::uint32_t> read_percentile(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view tenths =
        point == text.npos ? std::string_view("0") : text.substr(point + 1);
    std::uint32_t percent = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), percent);
    const bool is_number = error == std::errc() && end == whole.data() + whole.size();
    if (!is_number || percent > 99 || tenths.size() != 1 || tenths[0] < '0' || tenths[0] > '9') {
        return std::nullopt;
    }
    const std::uint32_t per_mille = percent * 10 + static_cast<std::uint32_t>(tenths[0] - '0');
    return per_mille == 0 ? std::nullopt : std::optional(per_mille);
}

std::optional<ComparedMetric> read_value_metric(RowValue value, std::string_view statistic) {
    if (statistic == "mean") {
        return ComparedMetric{ComparedFigure::value_mean, value, 0};
    }
    if (!statistic.starts_with('p')) {
        return std::nullopt;
    }
    const std::optional<std::uint32_t> per_mille = read_percentile(statistic.substr(1));
    if (!per_mille) {
        return std::nullopt;
    }
    return ComparedMetric{ComparedFigure::value_percentile, value, *per_mille};
}

}  // namespace

const char* name_of(MetricUnit unit) {
    switch (unit) {
        case MetricUnit::ns:
            return "ns";
        case MetricUnit::share:
            return "share";
        case MetricUnit::per_second:
            return "per_second";
    }
    return "";
}

MetricUnit ComparedMetric::unit() const {
    switch (figure) {
        case ComparedFigure::value_mean:
        case ComparedFigure::value_percentile:
            return MetricUnit::ns;
        case ComparedFigure::errors:
        case ComparedFigure::good:
            return MetricUnit::share;
        default:
            return MetricUnit::per_second;
    }
}

bool ComparedMetric::lower_is_better() const {
    return unit() == MetricUnit::ns || figure == ComparedFigure::errors;
}

std::string ComparedMetric::name() const {
    if (unit() == MetricUnit::ns) {
        std::string text(value_names[static_cast<std::size_t>(value)]);
        if (figure == ComparedFigure::value_mean) {
            return text + ":mean";
        }
        text += ":p" + std::to_string(per_mille / 10);
        return per_mille % 10 == 0 ? text : text + "." + std::to_string(per_mille % 10);
    }
    for (const Named& one : figures) {
        if (one.figure == figure) {
            return std::string(one.name);
        }
    }
    return "";
}

std::optional<ComparedMetric> read_metric(std::string_view name) {
    const std::size_t colon = name.find(':');
    if (colon == name.npos) {
        for (const Named& one : figures) {
            if (one.name == name) {
                return ComparedMetric{one.figure, RowValue::ttft, 0};
            }
        }
        return std::nullopt;
    }
    for (std::size_t i = 0; i < row_value_count; ++i) {
        if (name.substr(0, colon) == value_names[i]) {
            return read_value_metric(static_cast<RowValue>(i), name.substr(colon + 1));
        }
    }
    return std::nullopt;
}

std::vector<ComparedMetric> usual_metrics(bool with_slo) {
    std::vector<ComparedMetric> metrics;
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        metrics.push_back({ComparedFigure::value_mean, value, 0});
        for (const std::uint32_t per_mille : {500U, 900U, 990U}) {
            metrics.push_back({ComparedFigure::value_percentile, value, per_mille});
        }
    }
    metrics.push_back({ComparedFigure::errors, RowValue::ttft, 0});
    if (with_slo) {
        metrics.push_back({ComparedFigure::good, RowValue::ttft, 0});
        metrics.push_back({ComparedFigure::goodput, RowValue::ttft, 0});
    }
    for (const ComparedFigure figure :
         {ComparedFigure::request_throughput, ComparedFigure::output_throughput,
          ComparedFigure::total_throughput}) {
        metrics.push_back({figure, RowValue::ttft, 0});
    }
    return metrics;
}

}  // namespace driftless
