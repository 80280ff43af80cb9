#include "cmd/reading/compare_judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cmd/reading/compare_spread.hpp"
#include "cmd/reading/view.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/numbers.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/distribution.hpp"

namespace driftless {

namespace {

/// Those of all figures (proto/figures/criteria.hpp) that can be told request by request.
struct Named {
    std::string_view name;
    ComparedFigure figure;
};

}  // namespace

static constexpr std::array<Named, 6> named_figures{{
    {"errors", ComparedFigure::errors},
    {"good", ComparedFigure::good},
    {"request_goodput", ComparedFigure::goodput},
    {"request_throughput", ComparedFigure::request_throughput},
    {"output_throughput", ComparedFigure::output_throughput},
    {"total_token_throughput", ComparedFigure::total_throughput},
}};
static constexpr std::array<const char*, row_value_count> value_names{"ttft", "ttft_due", "tpot",
                                                                      "e2e"};

/// "99", "99.9": per mille; nothing where it is not such a number, or not from 0.1 to 99.9.
static std::optional<std::uint32_t> read_percentile(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view tenths =
        point == text.npos ? std::string_view("0") : text.substr(point + 1);
    const auto percent = read_number<std::uint32_t>(whole);
    if (!percent || *percent > 99 || tenths.size() != 1 || tenths[0] < '0' || tenths[0] > '9') {
        return std::nullopt;
    }
    const std::uint32_t per_mille = *percent * 10 + static_cast<std::uint32_t>(tenths[0] - '0');
    return per_mille == 0 ? std::nullopt : std::optional(per_mille);
}

static std::optional<ComparedMetric> read_value_metric(RowValue value, std::string_view statistic) {
    statistic = statistic == "median" ? "p50" : statistic;
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

const char* name_of(RowValue value) {
    return value_names[static_cast<std::size_t>(value)];
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
        std::string text = name_of(value);
        if (figure == ComparedFigure::value_mean) {
            return text + ":mean";
        }
        text += ":p" + std::to_string(per_mille / 10);
        return per_mille % 10 == 0 ? text : text + "." + std::to_string(per_mille % 10);
    }
    return std::string(std::ranges::find(named_figures, figure, &Named::figure)->name);
}

std::optional<ComparedMetric> read_metric(std::string_view name) {
    const std::size_t colon = name.find(':');
    const FigureName* const figure = find_figure(name.substr(0, colon));
    if (figure == nullptr) {
        return std::nullopt;
    }
    if (colon == name.npos) {
        const auto* const found = std::ranges::find(named_figures, figure->name, &Named::name);
        return found == named_figures.end()
                   ? std::nullopt
                   : std::optional(ComparedMetric{found->figure, RowValue::ttft, 0});
    }
    const auto* const found = std::ranges::find(value_names, figure->name);
    return found == value_names.end()
               ? std::nullopt
               : read_value_metric(static_cast<RowValue>(found - value_names.begin()),
                                   name.substr(colon + 1));
}

const char* why_not_compared(std::string_view name) {
    if (name.find('=') != name.npos) {
        return "is a rule for some rows, and compare is of all; use it in report --fail-if";
    }
    const FigureName* const figure = find_figure(name.substr(0, name.find(':')));
    const bool is_compared =
        figure != nullptr && (std::ranges::count(value_names, figure->name) > 0 ||
                              std::ranges::count(named_figures, figure->name, &Named::name) > 0);
    if (is_compared && (name.ends_with(":max") || name.ends_with(":min"))) {
        return "is not a metric that can be compared: one request of the run decides it, and no "
               "interval can be given; use :p99 or :mean, or report --fail-if for one run";
    }
    if (figure == nullptr || figure->only_in_tables || is_compared) {
        return "is not a metric that can be compared; use ttft, ttft_due, tpot and e2e (each with "
               ":mean, :p99 or the like), errors, good, request_goodput, request_throughput, "
               "output_throughput and total_token_throughput";
    }
    if (figure->is_inverse) {
        return "is not a metric that can be compared: it is the inverse of tpot; use that";
    }
    return figure->name == "itl" || figure->name == "chunk_gap"
               ? "is not a metric that can be compared: a request has many of them, which cannot "
                 "be paired; use tpot, or report --fail-if for one run"
               : "is not a metric that can be compared: it is told of one run alone; use report "
                 "--fail-if";
}

std::vector<ComparedMetric> usual_metrics(bool with_slo) {
    std::vector<ComparedMetric> metrics;
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        metrics.push_back({ComparedFigure::value_mean, value, 0});
        for (const std::uint32_t per_mille : {500U, 900U, 950U, 990U}) {
            metrics.push_back({ComparedFigure::value_percentile, value, per_mille});
        }
    }
    metrics.push_back({ComparedFigure::errors, RowValue::ttft, 0});
    if (with_slo) {
        metrics.push_back({ComparedFigure::good, RowValue::ttft, 0});
        metrics.push_back({ComparedFigure::goodput, RowValue::ttft, 0});
    }
    for (const ComparedFigure figure :
         {ComparedFigure::request_throughput, ComparedFigure::output_throughput}) {
        metrics.push_back({figure, RowValue::ttft, 0});
    }
    return metrics;
}

/// With fewer independent units of equal weight an interval is a guess: README.md has the measured
/// coverage.
static constexpr double blocks_min = 5;
/// More of a side's rows may not be tainted.
static constexpr double tainted_max = 0.01;
/// Of all cases so many show a change, for `smallest` and what is needed to see one.
static constexpr double usual_power = 0.8;
static constexpr double needed_confidence = 0.95;

/// From the metric's scale of errors (log(b / a), or b - a) to that of changes.
static double change_at(Scale scale, double value) {
    return scale == Scale::ratio ? std::exp(value) : value;
}

static double two_sided(const ComparisonOptions& options, double freedom) {
    return student_quantile(0.5 + options.confidence / 2, freedom);
}

static void set_interval(MetricComparison& compared, double center, double error,
                         const ComparisonOptions& options) {
    const Scale scale = compared.metric.scale();
    const double reach = two_sided(options, compared.freedom);
    compared.error = error;
    compared.low = change_at(scale, center - reach * error);
    compared.high = change_at(scale, center + reach * error);
    const double seen = (reach + student_quantile(usual_power, compared.freedom)) * error;
    compared.smallest = scale == Scale::ratio ? std::expm1(seen) : seen;
}

/// No share changes by more than the whole.
static void within_shares(MetricComparison& compared) {
    compared.low = std::clamp(compared.low, -1.0, 1.0);
    compared.high = std::clamp(compared.high, -1.0, 1.0);
}

/// A share can lie at 0 or 1, where no draw varies. Bonett and Price (2012) add half a case to each
/// kind of pair; with the cases that dependence leaves.
static void set_share_interval(MetricComparison& compared, const ChangeSpread& spread,
                               const ComparisonOptions& options) {
    const double added = 2 / (spread.n_eff + 2);
    const double center = compared.change * (1 - added);
    set_interval(compared, center, std::sqrt(spread.variance() + added * added / 2), options);
    within_shares(compared);
}

static Shown shown_by(const MetricComparison& compared, const ComparisonOptions& options) {
    const bool is_ratio = compared.metric.scale() == Scale::ratio;
    const double equal = is_ratio ? 1 : 0;
    const double same_low = is_ratio ? 1 / (1 + options.margin) : -options.share_margin;
    const double same_high = is_ratio ? 1 + options.margin : options.share_margin;
    if (compared.low >= same_low && compared.high <= same_high) {
        return Shown::same;
    }
    if (compared.low <= equal && compared.high >= equal) {
        return Shown::unsure;
    }
    return compared.high < equal ? Shown::lower : Shown::higher;
}

static Word word_of(const ComparedMetric& metric, Shown shown) {
    switch (shown) {
        case Shown::same:
            return Word::same;
        case Shown::unsure:
            return Word::unsure;
        default:
            break;
    }
    const bool is_lower = shown == Shown::lower;
    return is_lower == metric.lower_is_better() ? Word::better : Word::worse;
}

/// A figure that is 0 on a side has no ratio.
static bool is_undefined(const MetricComparison& compared) {
    return compared.metric.scale() == Scale::ratio && !(compared.a > 0 && compared.b > 0);
}

static void set_change(MetricComparison& compared) {
    compared.ratio = compared.a == compared.b ? 1 : compared.b / compared.a;
    compared.change =
        compared.metric.scale() == Scale::ratio ? compared.ratio : compared.b - compared.a;
}

static void hide_figures(MetricComparison& compared) {
    compared.a = compared.b = compared.ratio = compared.change = unknown_value;
}

/// Why there is no interval.
static Doubt doubt_of(const ChangeSpread& spread, const GroupComparison& group,
                      const ComparisonOptions& options) {
    // Further runs show by themselves how much they differ, however long rows depend on each other.
    const bool is_of_rows = group.evidence != Evidence::between_runs && !options.is_bound;
    return !spread.defined                    ? Doubt::undefined
           : spread.blocks < blocks_min       ? Doubt::few_units
           : is_of_rows && spread.reaches_far ? Doubt::few_blocks
                                              : Doubt::none;
}

/// Figures, interval, and what it shows; `doubt` where there is none.
static void set_shown(MetricComparison& compared, const ChangeSpread& spread,
                      const GroupComparison& group, const ComparisonOptions& options) {
    compared.block = spread.block;
    compared.n_eff = spread.n_eff;
    compared.freedom = spread.freedom;
    compared.error_between = std::sqrt(spread.runs_variance);
    if (static_cast<double>(compared.floor) > std::round(spread.n_eff)) {
        hide_figures(compared);
        compared.doubt = Doubt::below_floor;
        return;
    }
    compared.doubt = doubt_of(spread, group, options);
    if (compared.doubt != Doubt::none) {
        return;
    }
    if (compared.metric.scale() == Scale::difference) {
        set_share_interval(compared, spread, options);
    } else {
        set_interval(compared, std::log(compared.change), std::sqrt(spread.variance()), options);
    }
    compared.in_these_runs = shown_by(compared, options);
}

/// Widens the interval up to the change of the rows that were sent to A first, and of those that
/// were sent to B first, each by itself: what the order changes is then inside of it. False: there
/// are no rows of one order.
static bool reach_either_order(MetricComparison& compared, const MetricTerms& terms,
                               const PairedRows& paired) {
    if (compared.metric.unit() == MetricUnit::per_second) {
        return true;  // a rate is of all rows, and has no pairs
    }
    for (const bool a_first : {true, false}) {
        MetricComparison part;
        part.metric = compared.metric;
        const MetricFigures figures = figures_of(terms_of_order(terms, paired, a_first));
        part.a = figures.a;
        part.b = figures.b;
        set_change(part);
        if (!std::isfinite(part.change)) {
            return false;
        }
        compared.low = std::min(compared.low, part.change);
        compared.high = std::max(compared.high, part.change);
    }
    return true;
}

/// Widens the interval by what the clients may have moved the figures: its ends take the lower end
/// of one side and the upper one of the other.
static void widen_by_client(MetricComparison& compared, const MetricTerms& terms,
                            const PairedRows& paired, const ComparisonOptions& options) {
    const bool has_ends = compared.metric.unit() == MetricUnit::ns ||
                          compared.metric.figure == ComparedFigure::good ||
                          compared.metric.figure == ComparedFigure::goodput;
    if (!has_ends) {
        return;
    }
    const MetricFigures lower = figures_of(terms_of_ends(terms, paired, false));
    const MetricFigures upper = figures_of(terms_of_ends(terms, paired, true));
    if (compared.metric.unit() == MetricUnit::share) {
        compared.low += (lower.b - compared.b) - (upper.a - compared.a);
        compared.high += (upper.b - compared.b) - (lower.a - compared.a);
        within_shares(compared);
    } else {
        const auto part = [](double end, double measured) {
            return end == measured ? 1 : end / measured;  // of 0, too
        };
        const double least = part(lower.b, compared.b) / part(upper.a, compared.a);
        const double most = part(upper.b, compared.b) / part(lower.a, compared.a);
        compared.low = std::isfinite(least) ? compared.low * least : 0;
        compared.high =
            std::isfinite(most) ? compared.high * most : std::numeric_limits<double>::infinity();
    }
    const Shown widened = shown_by(compared, options);
    if (widened == Shown::unsure && compared.in_these_runs != Shown::unsure) {
        compared.doubt = Doubt::client;
    }
    compared.in_these_runs = widened;
}

/// Of a metric with an interval.
static void judge(MetricComparison& compared, const MetricTerms& terms, const PairedRows& paired,
                  const GroupComparison& group, const ComparisonOptions& options) {
    if (group.doubt == Doubt::client) {
        compared.in_these_runs = Shown::unsure;
    }
    if (group.doubt != Doubt::none) {
        compared.doubt = group.doubt;
    }
    if (compared.doubt != Doubt::none) {
        return;
    }
    Shown shown = compared.in_these_runs;
    if (group.evidence == Evidence::paired) {
        shown = reach_either_order(compared, terms, paired) ? shown_by(compared, options)
                                                            : Shown::unsure;
    }
    compared.word = word_of(compared.metric, shown);
    if (compared.word == Word::unsure) {
        compared.doubt = compared.in_these_runs == Shown::unsure ? Doubt::too_wide : Doubt::order;
    }
}

static MetricComparison compare_metric(const ComparedMetric& metric, const PairedRows& paired,
                                       const GroupComparison& group,
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
    set_shown(compared, spread_of(terms, figures, options), group, options);
    if (compared.doubt == Doubt::none) {
        widen_by_client(compared, terms, paired, options);
        judge(compared, terms, paired, group, options);
    }
    return compared;
}

static bool is_spoiled(std::span<const ComparedRun> side) {
    std::uint64_t rows = 0;
    std::uint64_t tainted = 0;
    for (const ComparedRun& run : side) {
        rows += run.requests.size();
        tainted += static_cast<std::uint64_t>(
            std::ranges::count(run.requests, true, &ComparedRequest::tainted));
    }
    return static_cast<double>(tainted) > tainted_max * static_cast<double>(rows);
}

static bool has_held(std::span<const ComparedRun> side) {
    return std::ranges::any_of(side, [](const ComparedRun& run) {
        return std::ranges::any_of(run.requests, &ComparedRequest::held);
    });
}

static Evidence evidence_of(std::size_t runs_a, std::size_t runs_b,
                            const ComparisonOptions& options) {
    return std::min(runs_a, runs_b) > 1 ? Evidence::between_runs
           : options.is_dual            ? Evidence::paired
                                        : Evidence::one_each;
}

/// What all metrics are in doubt of.
static Doubt doubt_of(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                      Evidence evidence) {
    if (is_spoiled(a) || is_spoiled(b)) {
        return Doubt::client;
    }
    return evidence == Evidence::one_each                                 ? Doubt::one_run
           : evidence == Evidence::paired && (has_held(a) || has_held(b)) ? Doubt::held
                                                                          : Doubt::none;
}

namespace {

struct DoubtNames {
    const char* name;
    const char* text;
};

}  // namespace

static constexpr std::array<DoubtNames, 11> doubts{{
    {"", ""},
    {"no_values", "not measured on both sides"},
    {"below_floor", "too few independent values for this percentile"},
    {"few_units", "fewer than 5 independent trees or blocks"},
    {"few_blocks", "requests depend on each other over more than an eighth of the run"},
    {"undefined", "0 on one side, so there is no ratio"},
    {"client", "the client itself may have made the difference"},
    {"one_run", "a side has only one run"},
    {"held", "a cap held rows back, so that they did not leave to both sides at one instant"},
    {"order", "rows sent to A first and those sent to B first do not tell the same"},
    {"too_wide", "the interval is too wide to judge"},
}};

const char* name_of(Doubt doubt) {
    return doubts[static_cast<std::size_t>(doubt)].name;
}

const char* text_of(Doubt doubt) {
    return doubts[static_cast<std::size_t>(doubt)].text;
}

bool is_of_evidence(Doubt doubt) {
    return doubt == Doubt::one_run || doubt == Doubt::held || doubt == Doubt::order;
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
    comparison.evidence = evidence_of(a.size(), b.size(), options);
    comparison.doubt = options.is_bound ? Doubt::none : doubt_of(a, b, comparison.evidence);
    const PairedRows paired = pair_rows(a, b, comparison);
    for (const ComparedMetric& metric : metrics) {
        if (has_both) {
            comparison.metrics.push_back(compare_metric(metric, paired, comparison, options));
        } else {
            comparison.metrics.emplace_back().metric = metric;
        }
    }
    return comparison;
}

/// More runs than anybody makes.
static constexpr std::uint64_t runs_most = 8192;

/// The change on the scale of errors.
static double effect_of(const MetricComparison& compared, double difference) {
    return compared.metric.scale() == Scale::ratio ? std::log1p(difference) : difference;
}

static double rows_variance(const MetricComparison& compared) {
    return compared.error * compared.error - compared.error_between * compared.error_between;
}

std::optional<double> rows_needed(const MetricComparison& compared, double difference) {
    CHECK(difference > 0);
    if (!std::isfinite(compared.error)) {
        return std::nullopt;
    }
    const double reach =
        normal_quantile(0.5 + needed_confidence / 2) + normal_quantile(usual_power);
    const double allowed = effect_of(compared, difference) / reach;
    const double for_rows = allowed * allowed - compared.error_between * compared.error_between;
    if (for_rows <= 0) {
        return std::nullopt;
    }
    return std::ceil(static_cast<double>(compared.pairs) * rows_variance(compared) / for_rows);
}

std::optional<double> runs_needed(const MetricComparison& compared, std::uint64_t runs,
                                  double difference) {
    CHECK(difference > 0);
    if (!std::isfinite(compared.error) || compared.error_between <= 0 || runs == 0) {
        return std::nullopt;
    }
    const double effect = effect_of(compared, difference);
    const double one_run =
        compared.error_between * compared.error_between * static_cast<double>(runs);
    const auto is_enough = [&](std::uint64_t count) {
        const auto more = static_cast<double>(count);
        const double freedom = 2 * (more - 1);
        const double reach = student_quantile(0.5 + needed_confidence / 2, freedom) +
                             student_quantile(usual_power, freedom);
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
