#include "engine/plan/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {

/// Arrivals so long after the begin of a piece.
static double expected_by(double seconds, double length_s, double from, double to, RampForm form) {
    if (form == RampForm::linear || from == to) {
        return seconds * (from + (to - from) * seconds / length_s / 2);
    }
    const double slope = portable_log(to / from) / length_s;
    return from * (portable_exp(slope * seconds) - 1) / slope;
}

void RateCurve::add(double length_s, double from, double to, RampForm form) {
    CHECK(length_s > 0 && from >= 0 && to >= 0 && std::isfinite(from) && std::isfinite(to));
    CHECK(form == RampForm::linear || (from > 0 && to > 0));
    Piece piece{end_s_, length_s, from, to, arrivals_, 0, form};
    piece.expected = expected_by(length_s, length_s, from, to, form);
    pieces_.push_back(piece);
    end_s_ += length_s;
    arrivals_ += piece.expected;
    last_rate_ = to;
}

/// Seconds from the begin of the piece, in which so many are expected; fewer than in all of it.
double RateCurve::within(const Piece& piece, double arrivals) {
    if (arrivals <= 0) {
        return 0;
    }
    double seconds = 0;
    if (piece.form == RampForm::linear || piece.from == piece.to) {
        const double rise = (piece.to - piece.from) / piece.length_s;
        const double square = piece.from * piece.from + 2 * arrivals * rise;
        seconds = 2 * arrivals / (piece.from + std::sqrt(std::max(square, 0.0)));
    } else {
        const double slope = portable_log(piece.to / piece.from) / piece.length_s;
        const double growth = 1 + arrivals * slope / piece.from;
        const double least = std::min(1.0, piece.to / piece.from);
        seconds = portable_log(std::max(growth, least)) / slope;
    }
    return std::min(seconds, piece.length_s);
}

const RateCurve::Piece* RateCurve::piece_at(double seconds) const {
    const auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), seconds,
        [](double wanted, const Piece& one) { return wanted < one.begin_s + one.length_s; });
    return piece == pieces_.end() ? nullptr : &*piece;
}

std::optional<double> RateCurve::seconds_at(double arrivals) const {
    CHECK(arrivals >= 0);
    const auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), arrivals,
        [](double wanted, const Piece& one) { return wanted < one.arrivals + one.expected; });
    if (piece != pieces_.end()) {
        return piece->begin_s + within(*piece, arrivals - piece->arrivals);
    }
    if (last_rate_ == 0) {
        return std::nullopt;
    }
    return end_s_ + std::max(arrivals - arrivals_, 0.0) / last_rate_;
}

double RateCurve::arrivals_by(double seconds) const {
    const Piece* const piece = piece_at(seconds);
    if (piece == nullptr) {
        return arrivals_ + (seconds - end_s_) * last_rate_;
    }
    return piece->arrivals + expected_by(seconds - piece->begin_s, piece->length_s, piece->from,
                                         piece->to, piece->form);
}

static constexpr std::uint64_t gap_stream = 3;  ///< beside those of load.cpp

/// Uniform in (0, 1]: it has a logarithm.
static double above_zero(Random& random) {
    return 1.0 - random.uniform();
}

/// One of the two that the polar method makes (Marsaglia, Bray 1964).
static double normal(Random& random) {
    while (true) {  // ends: each turn with a chance of 0.785
        const double x = 2 * random.uniform() - 1;
        const double y = 2 * random.uniform() - 1;
        const double square = x * x + y * y;
        if (square > 0 && square < 1) {
            return x * std::sqrt(-2 * portable_log(square) / square);
        }
    }
}

/// Of a shape of 1 or more, mean: the shape (Marsaglia, Tsang, TOMS 2000).
static double gamma_from_one(double shape, Random& random) {
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {  // ends: each turn with a chance above 0.95
        const double x = normal(random);
        const double root = 1 + c * x;
        const double cube = root * root * root;
        if (cube <= 0) {
            continue;
        }
        const double bound = x * x / 2 + d - d * cube + d * portable_log(cube);
        if (portable_log(above_zero(random)) < bound) {
            return d * cube;
        }
    }
}

static double gamma(double shape, Random& random) {
    if (shape >= 1) {
        return gamma_from_one(shape, random);
    }
    const double larger = gamma_from_one(shape + 1, random);
    return larger * portable_exp(portable_log(above_zero(random)) / shape);
}

UnitGaps::UnitGaps(ArrivalLaw law, double shape, std::uint64_t seed)
    : law_(law), shape_(shape), seed_(mix64(mix64(seed + golden_gamma) + gap_stream)) {
    CHECK(law != ArrivalLaw::gamma || (shape >= gamma_shape_min && shape <= gamma_shape_max));
}

double UnitGaps::gap(std::uint64_t number) const {
    Random random(seed_ ^ mix64(number + golden_gamma));
    switch (law_) {
        case ArrivalLaw::constant:
            return 1;
        case ArrivalLaw::poisson:
            return -portable_log(above_zero(random));
        case ArrivalLaw::gamma:
            return gamma(shape_, random) / shape_;
        case ArrivalLaw::recorded:
            break;
    }
    CHECK(false);
    return 0;
}

static constexpr double due_most_s = 73.0 * 365 * 86'400;
static constexpr std::uint32_t stays_away = UINT32_MAX;

/// How many arrivals of mean gap 1 had come before each of them.
static Result<std::vector<double>> unit_arrivals(const ArrivalRules& rules, std::size_t count,
                                                 const std::vector<std::int64_t>& recorded_ns) {
    std::vector<double> units(count);
    if (rules.law == ArrivalLaw::recorded) {
        const std::int64_t first = recorded_ns.front();
        for (std::size_t i = 0; i < count; ++i) {
            units[i] = static_cast<double>(recorded_ns[i] - first);
        }
    } else {
        const UnitGaps gaps(rules.law, rules.shape, rules.seed);
        for (std::size_t i = 1; i < count; ++i) {
            units[i] = units[i - 1] + gaps.gap(i);
        }
    }
    if (count > 1 && (rules.scaled || rules.law == ArrivalLaw::recorded)) {
        const double last = units.back();
        if (last <= 0) {
            return Error{ErrorCode::invalid, 0, "scale gaps that are all 0"};
        }
        for (double& unit : units) {
            unit = unit * static_cast<double>(count - 1) / last;
        }
    }
    return units;
}

static double rate_of_row(const RampOverRows& ramp, std::size_t number, std::size_t count) {
    const double progress =
        count > 1 ? static_cast<double>(number) / static_cast<double>(count - 1) : 0;
    return ramp.form == RampForm::linear
               ? ramp.from + (ramp.to - ramp.from) * progress
               : ramp.from * portable_exp(portable_log(ramp.to / ramp.from) * progress);
}

/// Each gap at the rate of the row behind it.
static std::vector<double> seconds_over_rows(const RampOverRows& ramp,
                                             const std::vector<double>& units) {
    std::vector<double> seconds(units.size());
    for (std::size_t i = 1; i < units.size(); ++i) {
        seconds[i] =
            seconds[i - 1] + (units[i] - units[i - 1]) / rate_of_row(ramp, i, units.size());
    }
    return seconds;
}

/// Fewer than `units` where the rate ends.
static std::vector<double> seconds_on_curve(const RateCurve& curve,
                                            const std::vector<double>& units) {
    std::vector<double> seconds;
    seconds.reserve(units.size());
    for (const double unit : units) {
        const std::optional<double> at = curve.seconds_at(unit);
        if (!at) {
            break;
        }
        seconds.push_back(seconds.empty() ? *at : std::max(*at, seconds.back()));
    }
    return seconds;
}

Result<std::vector<std::int64_t>> arrival_times(const ArrivalRules& rules, std::size_t count,
                                                const std::vector<std::int64_t>& recorded_ns) {
    if (rules.all_at_once || count == 0) {
        return std::vector<std::int64_t>(count, 0);
    }
    const Result<std::vector<double>> units = unit_arrivals(rules, count, recorded_ns);
    if (!units) {
        return units.error();
    }
    const std::vector<double> seconds = rules.over_rows
                                            ? seconds_over_rows(*rules.over_rows, units.value())
                                            : seconds_on_curve(rules.curve, units.value());
    if (!seconds.empty() && !(seconds.back() < due_most_s)) {
        return Error{ErrorCode::out_of_range, 0, "let all rows arrive: that takes decades"};
    }
    std::vector<std::int64_t> times;
    times.reserve(seconds.size());
    for (const double at : seconds) {
        times.push_back(static_cast<std::int64_t>(std::floor(at * 1e9 + 0.5)));
    }
    return times;
}

Result<Plan> arrive(const ArrivalRules& rules, const Trace& trace, Plan plan) {
    const RowTrees trees =
        rules.by_trees ? RowTrees(trace, plan) : RowTrees::of_single_rows(trace, plan);
    const auto first_of = [&trees](std::uint32_t tree) { return trees.rows_of(tree).front(); };
    std::vector<std::uint32_t> order(trees.count());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::int64_t> recorded_ns;
    if (rules.law == ArrivalLaw::recorded) {
        std::ranges::sort(order, {}, first_of);
        for (const std::uint32_t tree : order) {
            recorded_ns.push_back(plan.rows[first_of(tree)].due_ns);
        }
    }
    const Result<std::vector<std::int64_t>> times = arrival_times(rules, order.size(), recorded_ns);
    if (!times) {
        return times.error();
    }
    const std::size_t rows_before = plan.rows.size();
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool comes = i < times.value().size() &&
                           (!rules.duration_ns || times.value()[i] < *rules.duration_ns);
        const std::int64_t first_ns = plan.rows[first_of(order[i])].due_ns;
        for (const std::uint32_t position : trees.rows_of(order[i])) {
            Planned& planned = plan.rows[position];
            planned.due_ns = comes ? times.value()[i] + (planned.due_ns - first_ns) : 0;
            planned.row = comes ? planned.row : stays_away;
        }
    }
    std::erase_if(plan.rows, [](const Planned& planned) { return planned.row == stays_away; });
    if (plan.rows.empty()) {
        return Error{ErrorCode::not_found, 0, "let any row arrive"};
    }
    plan.rows_outside += rows_before - plan.rows.size();
    std::ranges::sort(plan.rows, {}, [&](const Planned& planned) {
        return std::pair(planned.due_ns, trace.rows[planned.row].index);
    });
    return summed_up(trace, std::move(plan));
}

std::optional<double> planned_rate(const ArrivalRules& rules, const Trace& trace,
                                   const Plan& plan) {
    std::size_t count = plan.rows_once();
    std::int64_t last_ns = plan.last_due_ns;
    if (rules.by_trees) {
        const RowTrees trees(trace, plan);
        count = trees.count();
        last_ns = 0;
        for (std::uint32_t tree = 0; tree < count; ++tree) {
            last_ns = std::max(last_ns, plan.rows[trees.rows_of(tree).front()].due_ns);
        }
    }
    const std::int64_t span_ns = last_ns - plan.rows.front().due_ns;
    return span_ns > 0
               ? std::optional(static_cast<double>(count - 1) * 1e9 / static_cast<double>(span_ns))
               : std::nullopt;
}

}  // namespace driftless
