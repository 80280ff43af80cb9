#include "engine/comparison/compare_groups.hpp"

#include <algorithm>
#include <cmath>

#include "engine/comparison/change_spread.hpp"
#include "engine/comparison/metric_terms.hpp"
#include "engine/comparison/paired_rows.hpp"
#include "engine/comparison/student_quantile.hpp"
#include "engine/knee/floors.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// With fewer independent units of equal weight an interval is a guess: README.md has the measured
/// coverage.
constexpr double blocks_min = 5;
/// For `smallest`.
constexpr double usual_power = 0.8;

/// From the metric's scale of errors (log(b / a), or b - a) to that of changes.
double change_at(Scale scale, double value) {
    return scale == Scale::ratio ? std::exp(value) : value;
}

double two_sided(const ComparisonOptions& options, double freedom) {
    return student_quantile(0.5 + options.confidence / 2, freedom);
}

void set_interval(MetricComparison& compared, double center, double error,
                  const ComparisonOptions& options) {
    const Scale scale = compared.metric.scale();
    const double reach = two_sided(options, compared.freedom);
    compared.error = error;
    compared.low = change_at(scale, center - reach * error);
    compared.high = change_at(scale, center + reach * error);
    const double seen = (reach + student_quantile(usual_power, compared.freedom)) * error;
    compared.smallest = scale == Scale::ratio ? std::expm1(seen) : seen;
}

/// A share can lie at 0 or 1, where no draw varies. Bonett and Price (2012) add half a case to each
/// kind of pair; with the cases that dependence leaves.
void set_share_interval(MetricComparison& compared, const ChangeSpread& spread,
                        const ComparisonOptions& options) {
    const double added = 2 / (spread.n_eff + 2);
    const double center = compared.change * (1 - added);
    set_interval(compared, center, std::sqrt(spread.variance() + added * added / 2), options);
    compared.low = std::clamp(compared.low, -1.0, 1.0);
    compared.high = std::clamp(compared.high, -1.0, 1.0);
}

Word word_of(const MetricComparison& compared, const ComparisonOptions& options) {
    const bool is_ratio = compared.metric.scale() == Scale::ratio;
    const double equal = is_ratio ? 1 : 0;
    const double same_low = is_ratio ? 1 / (1 + options.margin) : -options.share_margin;
    const double same_high = is_ratio ? 1 + options.margin : options.share_margin;
    if (compared.low >= same_low && compared.high <= same_high) {
        return Word::same;
    }
    if (compared.low <= equal && compared.high >= equal) {
        return Word::unsure;
    }
    const bool is_lower = compared.high < equal;
    return is_lower == compared.metric.lower_is_better() ? Word::better : Word::worse;
}

/// A figure that is 0 on a side has no ratio.
bool is_undefined(const MetricComparison& compared) {
    return compared.metric.scale() == Scale::ratio && !(compared.a > 0 && compared.b > 0);
}

void set_change(MetricComparison& compared) {
    compared.ratio = compared.a == compared.b ? 1 : compared.b / compared.a;
    compared.change =
        compared.metric.scale() == Scale::ratio ? compared.ratio : compared.b - compared.a;
}

void hide_figures(MetricComparison& compared) {
    compared.a = compared.b = compared.ratio = compared.change = unknown_value;
}

void judge(MetricComparison& compared, const ChangeSpread& spread,
           const ComparisonOptions& options) {
    compared.block = spread.block;
    compared.n_eff = spread.n_eff;
    compared.freedom = spread.freedom;
    compared.error_between = std::sqrt(spread.runs_variance);
    if (static_cast<double>(compared.floor) > std::round(spread.n_eff)) {
        hide_figures(compared);
        compared.doubt = Doubt::below_floor;
        return;
    }
    compared.doubt = !spread.defined              ? Doubt::undefined
                     : spread.blocks < blocks_min ? Doubt::few_units
                                                  : Doubt::none;
    if (compared.doubt != Doubt::none) {
        return;
    }
    if (compared.metric.scale() == Scale::difference) {
        set_share_interval(compared, spread, options);
    } else {
        set_interval(compared, std::log(compared.change), std::sqrt(spread.variance()), options);
    }
    compared.word = word_of(compared, options);
    compared.doubt = compared.word == Word::unsure ? Doubt::too_wide : Doubt::none;
}

MetricComparison compare_metric(const ComparedMetric& metric, const PairedRows& paired,
                                const ComparisonOptions& options) {
    MetricComparison compared;
    compared.metric = metric;
    if (metric.figure == ComparedFigure::value_percentile) {
        compared.floor = percentile_floor(metric.per_mille);
    }
    const MetricTerms terms = terms_of(metric, paired);
    compared.pairs = terms.pairs;
    compared.units = terms.units.count;
    if (terms.pairs == 0) {
        return compared;
    }
    const MetricFigures figures = figures_of(terms);
    compared.a = figures.a;
    compared.b = figures.b;
    if (!std::isfinite(compared.a) || !std::isfinite(compared.b)) {
        hide_figures(compared);
        return compared;
    }
    set_change(compared);
    if (is_undefined(compared)) {
        compared.doubt = Doubt::undefined;
        return compared;
    }
    judge(compared, spread_of(terms, figures, options), options);
    return compared;
}

}  // namespace

const char* name_of(Evidence evidence) {
    return evidence == Evidence::within_run ? "within_run" : "between_runs";
}

const char* name_of(Word word) {
    switch (word) {
        case Word::better:
            return "better";
        case Word::worse:
            return "worse";
        case Word::same:
            return "same";
        case Word::unsure:
            return "unsure";
    }
    return "";
}

const char* text_of(Doubt doubt) {
    switch (doubt) {
        case Doubt::none:
            return "";
        case Doubt::no_values:
            return "not measured on both sides";
        case Doubt::below_floor:
            return "too few independent values for this percentile";
        case Doubt::few_units:
            return "fewer than 5 independent trees or blocks";
        case Doubt::undefined:
            return "0 on one side, so there is no ratio";
        case Doubt::too_wide:
            return "the interval is too wide to judge";
    }
    return "";
}

GroupComparison compare_groups(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                               std::span<const ComparedMetric> metrics,
                               const ComparisonOptions& options) {
    CHECK(options.confidence > 0.5 && options.confidence < 1 && options.margin >= 0);
    CHECK(options.resamples >= 200 && options.resamples <= 100'000);
    GroupComparison comparison;
    comparison.runs_a = a.size();
    comparison.runs_b = b.size();
    const bool has_both = !a.empty() && !b.empty();
    const bool has_repeats = has_both && (a.size() > 1 || b.size() > 1);
    comparison.evidence = has_repeats ? Evidence::between_runs : Evidence::within_run;
    const PairedRows paired = pair_rows(a, b, comparison);
    for (const ComparedMetric& metric : metrics) {
        if (has_both) {
            comparison.metrics.push_back(compare_metric(metric, paired, options));
        } else {
            comparison.metrics.emplace_back().metric = metric;
        }
    }
    return comparison;
}

}  // namespace driftless
