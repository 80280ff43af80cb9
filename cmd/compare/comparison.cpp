#include "cmd/compare/comparison.hpp"

#include <algorithm>
#include <array>

namespace driftless {

namespace {

/// The ends of intervals by group move a little more with the seed; there are twenty of them.
constexpr std::uint32_t group_resamples = 500;

std::vector<ComparedRun> compared_of(std::vector<PlayedRun>& runs) {
    std::vector<ComparedRun> out;
    for (PlayedRun& run : runs) {
        out.push_back(run.compared);
    }
    return out;
}

bool has_slo(const std::vector<PlayedRun>& runs) {
    return std::any_of(runs.begin(), runs.end(), [](const PlayedRun& run) {
        const auto& requests = run.compared.requests;
        return std::any_of(requests.begin(), requests.end(),
                           [](const ComparedRequest& one) { return one.meets_slo.has_value(); });
    });
}

/// For each time its mean, p50, p90, p95 and p99; errors, rates, and goodput where there is an SLO.
std::vector<ComparedMetric> shown_metrics(bool with_slo) {
    std::vector<ComparedMetric> metrics;
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        metrics.push_back({ComparedFigure::value_mean, value, 0});
        for (const std::uint32_t per_mille : {500U, 900U, 950U, 990U}) {
            metrics.push_back({ComparedFigure::value_percentile, value, per_mille});
        }
    }
    const auto add = [&metrics](ComparedFigure figure) {
        metrics.push_back({figure, RowValue::ttft, 0});
    };
    add(ComparedFigure::errors);
    if (with_slo) {
        add(ComparedFigure::good);
        add(ComparedFigure::goodput);
    }
    add(ComparedFigure::request_throughput);
    add(ComparedFigure::output_throughput);
    return metrics;
}

/// The first time that is asked for.
RowValue looked_at(const std::vector<ComparedMetric>& metrics) {
    const auto found = std::find_if(metrics.begin(), metrics.end(), [](const ComparedMetric& one) {
        return one.unit() == MetricUnit::ns;
    });
    return found == metrics.end() ? RowValue::ttft : found->value;
}

}  // namespace

const char* name_of(RowValue value) {
    constexpr std::array<const char*, row_value_count> names{"ttft", "ttft_due", "tpot", "e2e"};
    return names[static_cast<std::size_t>(value)];
}

std::vector<ChangeView> where_of(const Comparison& comparison, RowValue value) {
    ComparisonOptions options = comparison.options;
    options.resamples = std::min(options.resamples, group_resamples);
    std::vector<ChangeView> views = where_it_changed(comparison.requests, value, options);
    for (ChangeView& view : views) {
        for (ChangeGroup& group : view.groups) {
            const bool is_spoiled = comparison.groups.doubt == Doubt::client;
            group.in_these_runs = is_spoiled ? Shown::unsure : group.in_these_runs;
        }
    }
    return views;
}

std::string compare_rows(Comparison& comparison, const ComparisonWish& wish) {
    const std::vector<ComparedRun> a = compared_of(comparison.a);
    const std::vector<ComparedRun> b = compared_of(comparison.b);
    if (std::string why = why_too_small(wish.thresholds, {a, b}, wish.options, wish.unsure_fails);
        !why.empty()) {
        return why;
    }
    const std::vector<ComparedMetric> metrics =
        wish.metrics.empty() ? shown_metrics(has_slo(comparison.a) && has_slo(comparison.b))
                             : wish.metrics;
    comparison.options = wish.options;
    comparison.options.is_dual = !comparison.a.front().side.empty();
    comparison.detect = wish.detect;
    comparison.groups = compare_groups(a, b, metrics, comparison.options);
    comparison.value = looked_at(metrics);
    comparison.requests = paired_requests(comparison.a, comparison.b);
    comparison.where = where_of(comparison, comparison.value);
    comparison.outputs = output_changes(comparison.a.front(), comparison.b.front());
    comparison.thresholds =
        judge_changes(wish.thresholds, {a, b}, comparison.options, wish.within_runs);
    return "";
}

}  // namespace driftless
