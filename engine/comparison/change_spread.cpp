#include "engine/comparison/change_spread.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/comparison/block_draws.hpp"
#include "engine/comparison/long_run.hpp"

namespace driftless {

namespace {

/// Blocks of Politis and White make the error of the variance least. An interval wants longer ones:
/// what they miss matters more than what they scatter (Sun, Phillips and Jin 2008).
constexpr double block_factor = 2;
/// Never fewer blocks than this, where there are units enough.
constexpr double blocks_wanted = 8;
/// A unit that has more of the rows than this is not widened any further.
constexpr double share_max = 0.5;
constexpr double undefined_max = 0.05;
/// Changes below this part are those of rounding.
constexpr double rounding_most = 1e-10;
/// A rate is drawn in blocks of at least this part of a run. A late end makes the next gap short:
/// what short blocks see is only that jitter, and not what the rate does.
constexpr double rate_blocks = 32;

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

/// By which the change of a side's figure is divided: its own level on a scale of ratios.
double level(const MetricTerms& terms, double figure) {
    return terms.metric.scale() == Scale::ratio ? figure : 1;
}

/// [rows] by how much a row more moves the change.
std::vector<double> row_influence(const MetricTerms& terms, const MetricFigures& figures) {
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
std::vector<double> unit_shares(const MetricTerms& terms) {
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

std::vector<double> unit_sums(const RowUnits& units, const std::vector<double>& rows) {
    std::vector<double> sums(units.count, 0);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        sums[units.unit_of[row]] += rows[row];
    }
    return sums;
}

double sum_of_squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value * value;
    }
    return sum;
}

/// How many units of equal weight know the spread as well: by Satterthwaite, from what each adds to
/// the variance. A unit of m rows adds m + r m (m - 1), where r is the correlation of two rows of
/// one unit.
double equal_units_of(const MetricTerms& terms, const std::vector<double>& rows,
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

/// How units depend on each other, from their influence.
struct Dependence {
    std::size_t block = 1;
    double blocks = 0;    ///< of equal weight
    double widening = 1;  ///< of the drawn variance
    double n_eff = 0;
    bool reaches_far = false;  ///< a block would have to be longer than there are units for
};

/// `units`: of equal weight.
void set_block(Dependence& found, const LongRun& series, double units, bool is_rate) {
    const double least = is_rate ? units / rate_blocks : 1;
    const double most = std::max(std::floor(units / blocks_wanted), 1.0);
    const double longer = series.block > 1 ? block_factor * series.block : 1;
    found.block =
        static_cast<std::size_t>(std::round(std::clamp(std::max(longer, least), 1.0, most)));
    found.blocks = units / static_cast<double>(found.block);
    found.reaches_far = series.reach > 1 && block_factor * series.reach > most;
}

Dependence dependence_of(const MetricTerms& terms, const MetricFigures& figures) {
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

/// What the draws showed.
struct Drawn {
    Moments change;
    std::vector<Moments> off_side;  ///< [runs] figure of a run - mean of its side
};

Drawn draw(const MetricTerms& terms, const MetricFigures& figures, std::size_t block,
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

/// Of one side with several runs, on the metric's scale.
struct RunSpread {
    double between = 0;  ///< variance of a single run's figure, as measured: with its noise
    double noise = 0;    ///< the part of that which comes from single rows
    double freedom = 0;
};

RunSpread runs_of(const MetricTerms& terms, const MetricFigures& figures, const Drawn& drawn,
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
void add_runs(ChangeSpread& spread, const MetricTerms& terms, const MetricFigures& figures,
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

}  // namespace

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
