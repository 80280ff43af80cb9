#include "cmd/reading/compare_spread.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {

/// From here on t and the normal differ by less than 1e-9.
static constexpr double normal_from = 1e9;
static constexpr int halvings = 200;
static constexpr int fractions_max = 10'000;
static constexpr double fraction_exact = 1e-15;

/// Lentz's algorithm. It converges in about sqrt(max(a, b)) steps where x < (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    const auto off_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
    double c = 1;
    double d = 1 / off_zero(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int i = 1; i < fractions_max; ++i) {
        const double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        d = 1 / off_zero(1 + even * d);
        c = off_zero(1 + even / c);
        result *= d * c;
        const double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
        d = 1 / off_zero(1 + odd * d);
        c = off_zero(1 + odd / c);
        result *= d * c;
        if (std::fabs(d * c - 1) < fraction_exact) {
            break;
        }
    }
    return result;
}

/// The regularized incomplete beta function I_x(a, b), of x and 1 - x: neither is rounded to 1.
static double incomplete_beta(double a, double b, double x, double other) {
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                  a * std::log(x) + b * std::log(other));
    if (x < (a + 1) / (a + b + 2)) {
        return front * beta_fraction(a, b, x) / a;
    }
    return 1 - front * beta_fraction(b, a, other) / b;
}

/// P(t > x), x > 0.
static double upper_tail(double x, double freedom) {
    const double sum = freedom + x * x;
    return 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / sum, x * x / sum);
}

double student_quantile(double p, double freedom) {
    CHECK(p > 0 && p < 1 && freedom >= 1);
    if (p == 0.5 || freedom >= normal_from) {
        return normal_quantile(p);
    }
    const double tail = p < 0.5 ? p : 1 - p;
    double high = 1;
    while (upper_tail(high, freedom) > tail) {  // ends: the tail falls at least as 1 / x
        high *= 2;
    }
    double low = high == 1 ? 0 : high / 2;
    for (int i = 0; i < halvings && low < high; ++i) {
        const double middle = (low + high) / 2;
        if (middle == low || middle == high) {
            break;
        }
        (upper_tail(middle, freedom) > tail ? low : high) = middle;
    }
    return p < 0.5 ? -high : high;
}

BlockDraws::BlockDraws(std::size_t units, std::size_t block, std::uint64_t seed)
    : block_(block), random_(seed), counts_(units, 0), steps_(block > 1 ? units + 1 : 0, 0) {
    CHECK(units > 0 && units <= UINT32_MAX && block > 0 && block <= units);
}

std::span<const std::uint32_t> BlockDraws::next() {
    if (block_ == 1) {
        draw_singly();
    } else {
        draw_blocks();
    }
    return counts_;
}

/// Two draws from each random number: the bias of 32 bits is below units / 2^32.
void BlockDraws::draw_singly() {
    std::fill(counts_.begin(), counts_.end(), 0);
    const std::uint64_t units = counts_.size();
    constexpr unsigned half = 32;
    constexpr std::uint64_t lower = 0xFFFFFFFF;
    for (std::uint64_t i = 0; i + 1 < units; i += 2) {
        const std::uint64_t bits = random_.next();
        ++counts_[(bits >> half) * units >> half];
        ++counts_[(bits & lower) * units >> half];
    }
    if (units % 2 == 1) {
        ++counts_[random_.below(units)];
    }
}

void BlockDraws::draw_blocks() {
    std::fill(steps_.begin(), steps_.end(), 0);
    const std::size_t units = counts_.size();
    for (std::size_t drawn = 0; drawn < units; drawn += block_) {
        const std::size_t length = std::min(block_, units - drawn);
        const std::size_t begin = random_.below(units);
        const std::size_t end = begin + length;
        ++steps_[begin];
        --steps_[std::min(end, units)];
        if (end > units) {  // round the corner
            ++steps_[0];
            --steps_[end - units];
        }
    }
    std::int32_t open = 0;
    for (std::size_t i = 0; i < units; ++i) {
        open += steps_[i];
        counts_[i] = static_cast<std::uint32_t>(open);
    }
}

/// A correlation counts where it is above this many deviations of what independent values show.
static constexpr double significant = 2;
/// So many lags in a row without one end the dependence.
static constexpr std::size_t quiet_lags_min = 5;
static constexpr double memory_max = 0.97;
/// A variance below this part of that of all values is of rounding.
static constexpr double rounding_share_most = 1e-20;
/// Fewer values than these show no correlation that is worth its name.
static constexpr std::size_t folded_min = 64;

/// Around their mean; of equal values exactly 0.
static std::vector<double> centred(std::span<const double> series) {
    std::vector<double> values(series.begin(), series.end());
    double mean = 0;
    for (double& value : values) {
        value -= series.front();
        mean += value / static_cast<double>(series.size());
    }
    for (double& value : values) {
        value -= mean;
    }
    return values;
}

namespace {

/// Autocovariances of a centred series, each computed when it is first asked for.
class Covariances {
  public:
    explicit Covariances(const std::vector<double>& values) : values_(values) {}

    /// Lags in ascending order, each at most one above the greatest so far.
    double at(std::size_t lag) {
        while (known_.size() <= lag) {
            const std::size_t next = known_.size();
            double sum = 0;
            for (std::size_t i = 0; i + next < values_.size(); ++i) {
                sum += values_[i] * values_[i + next];
            }
            known_.push_back(sum / static_cast<double>(values_.size()));
        }
        return known_[lag];
    }

  private:
    const std::vector<double>& values_;
    std::vector<double> known_;
};

/// The greatest significant lag before the first `quiet` ones in a row that are not.
struct LastLag {
    std::size_t lag = 0;
    bool is_end = true;  ///< false: lags were significant as far as was looked
};

}  // namespace

static LastLag last_lag(Covariances& covariances, std::size_t n, std::size_t quiet) {
    const auto count = static_cast<double>(n);
    const double bound = significant * std::sqrt(std::log10(count) / count) * covariances.at(0);
    const auto lags_max = static_cast<std::size_t>(std::ceil(std::sqrt(count))) + quiet;
    LastLag last;
    for (std::size_t lag = 1; lag < std::min(lags_max, n); ++lag) {
        if (std::fabs(covariances.at(lag)) >= bound) {
            last.lag = lag;
        } else if (lag - last.lag >= quiet) {
            return last;
        }
    }
    last.is_end = last.lag == 0;
    return last;
}

/// By prewhitening (Andrews and Monahan 1992): the variance of what a first-order autoregression
/// leaves, with its neighbours, times what the autoregression makes of it.
static double whitened_variance(const std::vector<double>& values) {
    Covariances covariances(values);
    const auto count = static_cast<double>(values.size());
    const double variance = covariances.at(0);
    const double raw = covariances.at(1) / variance;
    // Kendall's correction of its bias; near 1 the variance has no bound.
    const double memory = std::clamp(raw + (1 + 3 * raw) / count, -memory_max, memory_max);
    std::vector<double> fresh;
    for (std::size_t i = 1; i < values.size(); ++i) {
        fresh.push_back(values[i] - memory * values[i - 1]);
    }
    Covariances left(fresh);
    const double base = left.at(0);
    return (base + 2 * left.at(1)) / ((1 - memory) * (1 - memory));
}

/// Of a series of which each value is `fold` of the series asked for.
static LongRun long_run_at(Covariances& covariances, const std::vector<double>& values,
                           std::size_t last_significant, double fold) {
    const std::size_t n = values.size();
    const auto count = static_cast<double>(n);
    const std::size_t window = std::min(2 * std::max<std::size_t>(last_significant, 1), n - 1);
    double sum = covariances.at(0);
    double slope = 0;
    for (std::size_t lag = 1; lag <= window; ++lag) {
        const double at = static_cast<double>(lag) / static_cast<double>(window);
        const double weight = at <= 0.5 ? 1 : 2 * (1 - at);
        sum += 2 * weight * covariances.at(lag);
        slope += 2 * weight * static_cast<double>(lag) * covariances.at(lag);
    }
    LongRun found;
    found.variance = std::max(sum, last_significant > 0 ? whitened_variance(values) : 0) / fold;
    if (last_significant == 0) {
        return found;
    }
    const double most = std::ceil(std::min(3 * std::sqrt(count), count / 3));
    // The optimum: (2 G^2 / D)^(1/3) n^(1/3) with D = 4/3 g(0)^2.
    const double block = sum == 0 ? most : std::cbrt(1.5 * (slope / sum) * (slope / sum) * count);
    found.block = fold * std::clamp(block, 1.0, most);
    found.reach = sum > covariances.at(0) ? fold * std::max(block, 1.0) : 1;
    return found;
}

static void fold_in_pairs(std::vector<double>& values) {
    const std::size_t half = values.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
        values[i] = values[2 * i] + values[2 * i + 1];
    }
    values.resize(half);
}

LongRun long_run_of(std::span<const double> series) {
    std::vector<double> values = centred(series);
    LongRun found;
    double whole = 0;
    // Each folding makes of two neighbours one, so that dependence of any length is seen to end.
    for (double fold = 1;; fold *= 2) {
        Covariances covariances(values);
        const std::size_t n = values.size();
        whole = fold == 1 && n > 0 ? covariances.at(0) : whole;
        // Of neighbours that are opposed folding leaves rounding.
        if (n < 4 || covariances.at(0) <= rounding_share_most * whole) {
            found.variance = n == 0 ? 0 : std::max(covariances.at(0), 0.0) / fold;
            return found;
        }
        const auto count = static_cast<double>(n);
        const auto quiet = std::max<std::size_t>(
            quiet_lags_min, static_cast<std::size_t>(std::ceil(std::sqrt(std::log10(count)))));
        const LastLag last = last_lag(covariances, n, quiet);
        if (last.is_end || n < 2 * folded_min) {
            return long_run_at(covariances, values, last.lag, fold);
        }
        fold_in_pairs(values);
    }
}

double block_variance(std::span<const double> series, std::size_t block) {
    const std::size_t n = series.size();
    if (n == 0 || block == 0 || block > n) {
        return 0;
    }
    const std::vector<double> values = centred(series);
    double inside = 0;
    for (std::size_t i = 0; i < block; ++i) {
        inside += values[i];
    }
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        squares += inside * inside;
        inside += values[(i + block) % n] - values[i];
    }
    return squares / (static_cast<double>(block) * static_cast<double>(n));
}

/// Blocks of Politis and White make the error of the variance least. An interval wants longer ones:
/// what they miss matters more than what they scatter (Sun, Phillips and Jin 2008).
static constexpr double block_factor = 2;
/// Never fewer blocks than this, where there are units enough.
static constexpr double blocks_wanted = 8;
/// A unit that has more of the rows than this is not widened any further.
static constexpr double share_max = 0.5;
static constexpr double undefined_max = 0.05;
/// Changes below this part are those of rounding.
static constexpr double rounding_most = 1e-10;
/// A rate is drawn in blocks of at least this part of a run. A late end makes the next gap short:
/// what short blocks see is only that jitter, and not what the rate does.
static constexpr double rate_blocks = 32;

namespace {

/// Mean and variance in one pass (Welford).
class Moments {
  public:
    void add(double value) {
        ++count_;
        const double off = value - mean_;
        mean_ += off / static_cast<double>(count_);
        squares_ += off * (value - mean_);
    }
    std::size_t count() const { return count_; }
    double mean() const { return mean_; }
    double variance() const { return count_ > 1 ? squares_ / static_cast<double>(count_ - 1) : 0; }

  private:
    std::size_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

}  // namespace

/// By which the change of a side's figure is divided: its own level on a scale of ratios.
static double level(const MetricTerms& terms, double figure) {
    return terms.metric.scale() == Scale::ratio ? figure : 1;
}

/// [rows] by how much a row more moves the change.
static std::vector<double> row_influence(const MetricTerms& terms, const MetricFigures& figures) {
    std::vector<double> moves(terms.units.unit_of.size(), 0);
    for (std::size_t run = 0; run < figures.runs.size(); ++run) {
        const bool is_a = run < figures.runs_a;
        const auto runs = static_cast<double>(is_a ? figures.runs_a : figures.runs_b());
        const double factor = (is_a ? -1 : 1) / (runs * level(terms, is_a ? figures.a : figures.b));
        const std::vector<double> of_run = figures.runs[run].influence(terms, run);
        for (std::size_t row = 0; row < moves.size(); ++row) {
            moves[row] += factor * of_run[row];
        }
    }
    return moves;
}

/// [units] the part that each has of the metric's rows, or of its time.
static std::vector<double> unit_shares(const MetricTerms& terms) {
    std::vector<double> shares(terms.units.count, 0);
    double sum = 0;
    for (const std::vector<RowTerm>& run : terms.runs) {
        for (std::size_t row = 0; row < run.size(); ++row) {
            const double part = terms.metric.unit() == MetricUnit::per_second
                                    ? (run[row].bottom > 0 || run[row].top > 0 ? 1 : 0)
                                    : run[row].bottom;
            shares[terms.units.unit_of[row]] += part;
            sum += part;
        }
    }
    for (double& share : shares) {
        share = sum > 0 ? share / sum : 0;
    }
    return shares;
}

static std::vector<double> unit_sums(const RowUnits& units, const std::vector<double>& rows) {
    std::vector<double> sums(units.count, 0);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        sums[units.unit_of[row]] += rows[row];
    }
    return sums;
}

static double sum_of_squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value * value;
    }
    return sum;
}

/// How many units of equal weight know the spread as well: by Satterthwaite, from what each adds to
/// the variance. A unit of m rows adds m + r m (m - 1), where r is the correlation of two rows of
/// one unit.
static double equal_units_of(const MetricTerms& terms, const std::vector<double>& rows,
                             const std::vector<double>& units, const std::vector<double>& shares) {
    const auto pairs = static_cast<double>(terms.pairs);
    const double alone = sum_of_squares(rows);
    double pairings = 0;
    for (const double share : shares) {
        pairings += share * pairs * std::max(share * pairs - 1, 0.0);
    }
    double together = 0;
    if (alone > 0 && pairings > 0) {
        together =
            std::clamp((sum_of_squares(units) - alone) / (alone / pairs * pairings), 0.0, 1.0);
    }
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
        const double count = share * pairs;
        const double adds = count + together * count * std::max(count - 1, 0.0);
        sum += adds;
        squares += adds * adds;
    }
    return squares > 0 ? sum * sum / squares : 0;
}

namespace {

/// How units depend on each other, from their influence.
struct Dependence {
    std::size_t block = 1;
    double blocks = 0;    ///< of equal weight
    double widening = 1;  ///< of the drawn variance
    double n_eff = 0;
    bool reaches_far = false;  ///< a block would have to be longer than there are units for
};

}  // namespace

/// `units`: of equal weight.
static void set_block(Dependence& found, const LongRun& series, double units, bool is_rate) {
    const double least = is_rate ? units / rate_blocks : 1;
    const double most = std::max(std::floor(units / blocks_wanted), 1.0);
    const double longer = series.block > 1 ? block_factor * series.block : 1;
    found.block =
        static_cast<std::size_t>(std::round(std::clamp(std::max(longer, least), 1.0, most)));
    found.blocks = units / static_cast<double>(found.block);
    found.reaches_far = series.reach > 1 && block_factor * series.reach > most;
}

static Dependence dependence_of(const MetricTerms& terms, const MetricFigures& figures) {
    const std::vector<double> rows = row_influence(terms, figures);
    const std::vector<double> units = unit_sums(terms.units, rows);
    const std::vector<double> shares = unit_shares(terms);
    const auto count = static_cast<double>(units.size());
    std::vector<double> widened = units;
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
        widened[unit] /= 1 - std::min(shares[unit], share_max);
    }

    Dependence found;
    const double equal_units = equal_units_of(terms, rows, units, shares);
    const bool is_rate = terms.metric.unit() == MetricUnit::per_second;
    set_block(found, long_run_of(units), equal_units, is_rate);
    const double drawn = block_variance(units, found.block);
    double whole = block_variance(widened, found.block);
    if (!is_rate) {
        whole = std::max(whole, long_run_of(widened).variance);
    }
    const auto pairs = static_cast<double>(terms.pairs);
    // A row moves the change by about 1 / pairs, and rounding by 1e-16.
    const double rounding = rounding_most / pairs;
    if (drawn <= rounding * rounding || whole <= 0) {
        found.n_eff = std::min(pairs, count);
        return found;
    }
    // Blocks are taken around the mean of the same values: B blocks know B - 1 of the spread.
    const double off_mean = found.block > 1 ? found.blocks / std::max(found.blocks - 1, 1.0) : 1;
    found.widening = std::max(whole / drawn, 1.0) * off_mean;
    found.n_eff = std::min(pairs * sum_of_squares(rows) / (whole * count), pairs);
    return found;
}

namespace {

/// What the draws showed.
struct Drawn {
    Moments change;
    std::vector<Moments> off_side;  ///< [runs] figure of a run - mean of its side
};

}  // namespace

static Drawn draw(const MetricTerms& terms, const MetricFigures& figures, std::size_t block,
                  const ComparisonOptions& options) {
    const bool is_ratio = terms.metric.scale() == Scale::ratio;
    BlockDraws draws(terms.units.count, block, options.seed);
    Drawn drawn;
    drawn.off_side.resize(figures.runs.size());
    std::vector<double> values(figures.runs.size());
    for (std::uint32_t i = 0; i < options.resamples; ++i) {
        const std::span<const std::uint32_t> weights = draws.next();
        double a = 0;
        double b = 0;
        for (std::size_t run = 0; run < values.size(); ++run) {
            values[run] = figures.runs[run].at(weights);
            (run < figures.runs_a ? a : b) += values[run];
        }
        a /= static_cast<double>(figures.runs_a);
        b /= static_cast<double>(figures.runs_b());
        const double change = is_ratio ? std::log(b / a) : b - a;
        if (!std::isfinite(change)) {
            continue;
        }
        drawn.change.add(change);
        for (std::size_t run = 0; run < values.size(); ++run) {
            drawn.off_side[run].add(values[run] - (run < figures.runs_a ? a : b));
        }
    }
    return drawn;
}

namespace {

/// Of one side with several runs, on the metric's scale.
struct RunSpread {
    double between = 0;  ///< variance of a single run's figure, as measured: with its noise
    double noise = 0;    ///< the part of that which comes from single rows
    double freedom = 0;
};

}  // namespace

static RunSpread runs_of(const MetricTerms& terms, const MetricFigures& figures, const Drawn& drawn,
                         bool is_a) {
    const std::size_t begin = is_a ? 0 : figures.runs_a;
    const std::size_t end = is_a ? figures.runs_a : figures.runs.size();
    RunSpread spread;
    if (end - begin < 2) {
        return spread;
    }
    const double scale = level(terms, is_a ? figures.a : figures.b);
    Moments values;
    for (std::size_t run = begin; run < end; ++run) {
        values.add(figures.runs[run].value() / scale);
        spread.noise += drawn.off_side[run].variance() / (scale * scale);
    }
    spread.freedom = static_cast<double>(end - begin - 1);
    spread.between = values.variance();
    spread.noise /= spread.freedom;  // of mean deviations: R - 1 of them for R runs
    return spread;
}

/// Adds what runs differ by. A side with one run is held to vary as the other.
static void add_runs(ChangeSpread& spread, const MetricTerms& terms, const MetricFigures& figures,
                     const Drawn& drawn, double widening) {
    RunSpread a = runs_of(terms, figures, drawn, true);
    RunSpread b = runs_of(terms, figures, drawn, false);
    if (a.freedom == 0 && b.freedom == 0) {
        return;
    }
    double between = 0;
    double noise = 0;
    double scatter = spread.rows_variance * spread.rows_variance / spread.freedom;
    if (a.freedom == 0 || b.freedom == 0) {
        const RunSpread& known = a.freedom > 0 ? a : b;
        const double runs = 1 + 1 / (known.freedom + 1);
        between = known.between * runs;
        noise = known.noise * runs;
        scatter += between * between / known.freedom;
    } else {
        for (const RunSpread& side : {a, b}) {
            const double of_side = side.between / (side.freedom + 1);
            between += of_side;
            noise += side.noise / (side.freedom + 1);
            scatter += of_side * of_side / side.freedom;
        }
    }
    const double rows = spread.rows_variance;
    const double whole = std::max({rows + between - noise * widening, rows, between});
    spread.runs_variance = whole - rows;
    spread.freedom = scatter > 0 ? std::max(whole * whole / scatter, 1.0) : spread.freedom;
}

MetricFigures figures_of(const MetricTerms& terms) {
    MetricFigures figures;
    figures.runs_a = terms.runs_a;
    for (std::size_t run = 0; run < terms.runs.size(); ++run) {
        figures.runs.emplace_back(terms, run);
        (run < terms.runs_a ? figures.a : figures.b) += figures.runs.back().value();
    }
    figures.a /= static_cast<double>(figures.runs_a);
    figures.b /= static_cast<double>(figures.runs_b());
    return figures;
}

ChangeSpread spread_of(const MetricTerms& terms, const MetricFigures& figures,
                       const ComparisonOptions& options) {
    const Dependence found = dependence_of(terms, figures);
    ChangeSpread spread;
    spread.block = found.block;
    spread.blocks = found.blocks;
    spread.n_eff = found.n_eff;
    spread.reaches_far = found.reaches_far;
    const Drawn drawn = draw(terms, figures, found.block, options);
    spread.defined =
        static_cast<double>(drawn.change.count()) >= (1 - undefined_max) * options.resamples;
    spread.rows_variance = drawn.change.variance() * found.widening;
    spread.freedom = std::max(found.blocks - 1, 1.0);
    add_runs(spread, terms, figures, drawn, found.widening);
    return spread;
}

}  // namespace driftless
