/// Rows of runs in pairs, and what each adds to a metric.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cmd/reading/compare_spread.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/distribution.hpp"

namespace driftless {

namespace {

/// What all runs say of a key.
struct KeyFacts {
    std::uint64_t key = 0;
    std::int64_t due_ns = 0;  ///< in the first run that has it
    std::uint64_t tree = 0;
    std::uint32_t runs_a = 0;  ///< runs that have it
    std::uint32_t runs_b = 0;
    std::uint32_t ok_a = 0;  ///< runs in which it is ok
    std::uint32_t ok_b = 0;
    bool dues_differ = false;
};

using Places = std::unordered_map<std::uint64_t, std::uint32_t>;

/// The keys of all runs; `run_of` tells a key met twice in one run.
class Keys {
  public:
    void add(const ComparedRun& run, bool is_a) {
        ++run_;
        for (const ComparedRequest& request : run.requests) {
            const auto [found, is_new] =
                places_.try_emplace(request.key, static_cast<std::uint32_t>(facts_.size()));
            if (is_new) {
                facts_.push_back({request.key, request.due_ns, request.tree});
                last_run_.push_back(0);
            }
            KeyFacts& facts = facts_[found->second];
            if (std::exchange(last_run_[found->second], run_) == run_) {
                ++twice_;
                continue;
            }
            ++(is_a ? facts.runs_a : facts.runs_b);
            (is_a ? facts.ok_a : facts.ok_b) += request.ok ? 1 : 0;
            facts.dues_differ = facts.dues_differ || facts.due_ns != request.due_ns;
        }
    }

    /// In the order of their dues.
    std::vector<KeyFacts> sorted() {
        std::ranges::sort(facts_, {},
                          [](const KeyFacts& one) { return std::pair(one.due_ns, one.key); });
        return std::move(facts_);
    }
    std::uint64_t twice() const { return twice_; }

  private:
    std::vector<KeyFacts> facts_;
    std::vector<std::uint32_t> last_run_;  ///< [facts] the last run that had it; runs count from 1
    Places places_;
    std::uint32_t run_ = 0;
    std::uint64_t twice_ = 0;
};

}  // namespace

static RowUnits units_of(const std::vector<KeyFacts>& rows, std::uint64_t& trees) {
    RowUnits units;
    std::unordered_map<std::uint64_t, std::uint32_t> found;
    for (const KeyFacts& row : rows) {
        auto unit = static_cast<std::uint32_t>(units.count);
        if (row.tree != 0) {
            unit = found.try_emplace(row.tree, unit).first->second;
        }
        units.count += unit == units.count ? 1 : 0;
        units.unit_of.push_back(unit);
    }
    trees = found.size();
    return units;
}

static void count_rows(const std::vector<KeyFacts>& rows, GroupComparison& comparison) {
    for (const KeyFacts& row : rows) {
        const bool whole_a = row.runs_a == comparison.runs_a;
        const bool whole_b = row.runs_b == comparison.runs_b;
        const bool ok_a = row.ok_a == comparison.runs_a;
        const bool ok_b = row.ok_b == comparison.runs_b;
        comparison.only_a += row.runs_b == 0 ? 1 : 0;
        comparison.only_b += row.runs_a == 0 ? 1 : 0;
        comparison.dues_differ += row.dues_differ ? 1 : 0;
        if (whole_a && whole_b) {
            ++comparison.keys;
            comparison.only_a_ok += ok_a && !ok_b ? 1 : 0;
            comparison.only_b_ok += ok_b && !ok_a ? 1 : 0;
        }
    }
}

PairedRows pair_rows(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                     GroupComparison& comparison) {
    Keys keys;
    for (const ComparedRun& run : a) {
        keys.add(run, true);
    }
    for (const ComparedRun& run : b) {
        keys.add(run, false);
    }
    const std::vector<KeyFacts> rows = keys.sorted();
    CHECK(rows.size() <= UINT32_MAX);
    comparison.twice = keys.twice();
    count_rows(rows, comparison);

    PairedRows paired;
    paired.rows = rows.size();
    paired.runs_a = a.size();
    paired.trees = units_of(rows, comparison.trees);
    Places places;
    places.reserve(rows.size());
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
        places.emplace(rows[row].key, row);
    }
    const auto place = [&](const ComparedRun& run) {
        std::vector<const ComparedRequest*> requests(rows.size(), nullptr);
        for (const ComparedRequest& request : run.requests) {
            const ComparedRequest*& slot = requests[places.at(request.key)];
            slot = slot == nullptr ? &request : slot;
        }
        paired.runs.push_back(std::move(requests));
        paired.whole_runs.push_back(&run);
    };
    std::for_each(a.begin(), a.end(), place);
    std::for_each(b.begin(), b.end(), place);
    return paired;
}

namespace {

using Requests = std::vector<const ComparedRequest*>;

}  // namespace

static std::optional<double> value_of(const ComparedRequest* request, RowValue value) {
    if (request == nullptr || !request->ok) {
        return std::nullopt;
    }
    const double found = request->values[static_cast<std::size_t>(value)];
    return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

/// Values of rows that every run knows.
static void add_values(MetricTerms& terms, const PairedRows& paired) {
    for (std::size_t row = 0; row < paired.rows; ++row) {
        const bool is_whole = std::ranges::all_of(paired.runs, [&](const Requests& requests) {
            return value_of(requests[row], terms.metric.value).has_value();
        });
        if (!is_whole) {
            continue;
        }
        ++terms.pairs;
        for (std::size_t run = 0; run < paired.runs.size(); ++run) {
            terms.runs[run][row] = {*value_of(paired.runs[run][row], terms.metric.value), 1};
        }
    }
}

namespace {

/// Which values count: the measured ones, or an end of each bar.
enum class End : std::uint8_t { none, lower, upper };

}  // namespace

static std::optional<bool> meets_slo(const ComparedRequest& request, End end) {
    const bool has_ends = request.meets_slo || request.may_meet_slo;  // false and true of lost ones
    return !has_ends || end == End::none ? request.meets_slo
           : end == End::lower           ? request.surely_meets_slo
                                         : request.may_meet_slo;
}

/// Whether it counts for a share; nothing where it could not.
static std::optional<bool> mark_of(const ComparedRequest* request, ComparedFigure figure, End end) {
    if (request == nullptr) {
        return std::nullopt;
    }
    const bool has_ended = request->ok || request->failed;
    if (figure == ComparedFigure::errors) {
        return has_ended ? std::optional(request->failed) : std::nullopt;
    }
    if (!has_ended && (end == End::none || !request->may_meet_slo)) {
        return std::nullopt;
    }
    return request->failed && !request->meets_slo ? std::optional(false) : meets_slo(*request, end);
}

static void add_shares(MetricTerms& terms, const PairedRows& paired, End end) {
    std::vector<std::uint64_t> counts(paired.runs.size(), 0);
    for (std::size_t run = 0; run < paired.runs.size(); ++run) {
        for (std::size_t row = 0; row < paired.rows; ++row) {
            const std::optional<bool> mark =
                mark_of(paired.runs[run][row], terms.metric.figure, end);
            if (mark) {
                terms.runs[run][row] = {*mark ? 1.0 : 0.0, 1};
                ++counts[run];
            }
        }
    }
    terms.pairs = counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
}

/// What an ended request adds to a rate.
static double count_of(const ComparedRequest& request, ComparedFigure figure, End end) {
    if (figure == ComparedFigure::goodput) {
        return meets_slo(request, end).value_or(false) ? 1 : 0;
    }
    if (!request.ok) {
        return 0;
    }
    switch (figure) {
        case ComparedFigure::output_throughput:
            return request.output_tokens;
        case ComparedFigure::total_throughput:
            return request.input_tokens + request.output_tokens;
        default:
            return 1;
    }
}

/// Rows that have ended in `requests`, in the order of their ends.
static std::vector<std::uint32_t> ended_rows(const Requests& requests) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < requests.size(); ++row) {
        if (requests[row] != nullptr && requests[row]->ended_ns) {
            rows.push_back(row);
        }
    }
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return *requests[row]->ended_ns; });
    return rows;
}

/// The terms of one run's rate, in the order of its own ends. Of rows whose end was lost some may
/// have been good.
static void add_rate(std::vector<RowTerm>& terms, const Requests& requests,
                     const std::vector<std::uint32_t>& rows, std::int64_t duration_ns,
                     ComparedFigure figure, End end) {
    if (rows.empty()) {
        return;
    }
    std::int64_t before_ns = *requests[rows.front()]->ended_ns;
    for (const std::uint32_t row : rows) {
        before_ns = std::min(before_ns, requests[row]->due_ns);
    }
    const auto whole_ns = static_cast<double>(*requests[rows.back()]->ended_ns - before_ns);
    constexpr double second_ns = 1e9;
    const double scale =
        whole_ns > 0 && duration_ns > 0 ? static_cast<double>(duration_ns) / whole_ns : 1;
    for (std::size_t place = 0; place < rows.size(); ++place) {
        const ComparedRequest& request = *requests[rows[place]];
        const double time_s =
            static_cast<double>(*request.ended_ns - before_ns) * scale / second_ns;
        terms[place] = {count_of(request, figure, end), time_s};
        before_ns = *request.ended_ns;
    }
    std::size_t place = rows.size();
    for (const ComparedRequest* const one : requests) {
        if (figure == ComparedFigure::goodput && one != nullptr && !one->ended_ns) {
            terms[place++].top = count_of(*one, figure, end);
        }
    }
}

static bool has_slo(const PairedRows& paired) {
    return std::ranges::any_of(paired.runs, [](const Requests& requests) {
        return std::ranges::any_of(requests, [](const ComparedRequest* request) {
            return request != nullptr && request->meets_slo.has_value();
        });
    });
}

/// Every request that is ok has what the rate adds up.
static bool is_countable(const PairedRows& paired, ComparedFigure figure) {
    return std::ranges::all_of(paired.runs, [figure](const Requests& requests) {
        return std::ranges::none_of(requests, [figure](const ComparedRequest* request) {
            return request != nullptr && std::isnan(count_of(*request, figure, End::none));
        });
    });
}

static void add_rates(MetricTerms& terms, const PairedRows& paired, End end) {
    if (paired.runs.empty() || !is_countable(paired, terms.metric.figure) ||
        (terms.metric.figure == ComparedFigure::goodput && !has_slo(paired))) {
        return;
    }
    terms.units.count = paired.rows;
    terms.units.unit_of.resize(paired.rows);
    std::iota(terms.units.unit_of.begin(), terms.units.unit_of.end(), 0U);
    terms.pairs = paired.rows;
    for (std::size_t run = 0; run < paired.runs.size(); ++run) {
        const std::vector<std::uint32_t> rows = ended_rows(paired.runs[run]);
        const auto& [all, duration_ns, least_ns] = *paired.whole_runs[run];
        add_rate(terms.runs[run], paired.runs[run], rows,
                 end == End::upper && least_ns > 0 ? least_ns : duration_ns, terms.metric.figure,
                 end);
        terms.pairs = std::min<std::uint64_t>(terms.pairs, rows.size());
    }
}

static MetricTerms terms_at(End end, const ComparedMetric& metric, const PairedRows& paired) {
    MetricTerms terms;
    terms.metric = metric;
    terms.runs_a = paired.runs_a;
    terms.runs.assign(paired.runs.size(), std::vector<RowTerm>(paired.rows));
    terms.units = paired.trees;
    switch (metric.figure) {
        case ComparedFigure::value_mean:
        case ComparedFigure::value_percentile:
            add_values(terms, paired);
            break;
        case ComparedFigure::errors:
        case ComparedFigure::good:
            add_shares(terms, paired, end);
            break;
        default:
            add_rates(terms, paired, end);
    }
    return terms;
}

MetricTerms terms_of(const ComparedMetric& metric, const PairedRows& paired) {
    return terms_at(End::none, metric, paired);
}

MetricTerms terms_of_ends(const MetricTerms& terms, const PairedRows& paired, bool upper) {
    if (terms.metric.unit() != MetricUnit::ns) {
        return terms_at(upper ? End::upper : End::lower, terms.metric, paired);
    }
    MetricTerms ends = terms;
    const auto value = static_cast<std::size_t>(terms.metric.value);
    for (std::size_t run = 0; run < ends.runs.size(); ++run) {
        for (std::size_t row = 0; row < paired.rows; ++row) {
            RowTerm& term = ends.runs[run][row];
            if (term.bottom > 0) {
                const ErrorBar& error = paired.runs[run][row]->errors[value];
                term.top = upper ? term.top + error.above : std::max(term.top - error.below, 0.0);
            }
        }
    }
    return ends;
}

MetricTerms terms_of_order(const MetricTerms& terms, const PairedRows& paired, bool a_first) {
    MetricTerms part = terms;
    for (std::size_t row = 0; row < paired.rows; ++row) {
        const ComparedRequest* a = paired.runs.front()[row];
        const ComparedRequest* b = paired.runs.back()[row];
        const bool is_known = a != nullptr && b != nullptr && a->fired_ns && b->fired_ns;
        if (!is_known || (*a->fired_ns <= *b->fired_ns) != a_first) {
            for (std::vector<RowTerm>& run : part.runs) {
                run[row] = {};
            }
        }
    }
    return part;
}

static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
static constexpr std::uint32_t all_per_mille = 1000;

/// Four sums side by side: one alone waits for each of its additions.
static double weighted_sum(std::span<const std::uint32_t> weights,
                           const std::vector<double>& values) {
    constexpr std::size_t lanes = 4;
    std::array<double, lanes> sums{};
    const std::size_t whole = weights.size() / lanes * lanes;
    for (std::size_t unit = 0; unit < whole; unit += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const auto weight = static_cast<std::int32_t>(weights[unit + lane]);
            sums[lane] += static_cast<double>(weight) * values[unit + lane];
        }
    }
    for (std::size_t unit = whole; unit < weights.size(); ++unit) {
        sums[0] += static_cast<double>(weights[unit]) * values[unit];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

WeightedFigure::WeightedFigure(const MetricTerms& terms, std::size_t run)
    : per_mille_(terms.metric.figure == ComparedFigure::value_percentile ? terms.metric.per_mille
                                                                         : 0),
      tops_(terms.units.count, 0),
      bottoms_(terms.units.count, 0) {
    const std::vector<RowTerm>& rows = terms.runs[run];
    const std::vector<std::uint32_t>& unit_of = terms.units.unit_of;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        tops_[unit_of[row]] += rows[row].top;
        bottoms_[unit_of[row]] += rows[row].bottom;
    }
    if (per_mille_ > 0) {
        std::vector<std::uint32_t> order;
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
            if (rows[row].bottom > 0) {
                order.push_back(row);
            }
        }
        std::ranges::sort(order, {}, [&](std::uint32_t row) { return rows[row].top; });
        for (const std::uint32_t row : order) {
            sorted_.push_back(rows[row].top);
            unit_at_.push_back(unit_of[row]);
        }
    }
    const double bottom = bottoms_.empty() ? 0 : bottoms_.front();
    equal_bottom_ = std::ranges::count(bottoms_, bottom) == std::ssize(bottoms_) ? bottom : 0;
    value_ = at(std::vector<std::uint32_t>(terms.units.count, 1));
}

double WeightedFigure::at(std::span<const std::uint32_t> weights) const {
    return per_mille_ > 0 ? percentile_at(weights) : sums_at(weights);
}

double WeightedFigure::bottom_at(std::span<const std::uint32_t> weights) const {
    if (equal_bottom_ > 0) {  // each draw has as many units as there are
        return equal_bottom_ * static_cast<double>(weights.size());
    }
    return weighted_sum(weights, bottoms_);
}

double WeightedFigure::sums_at(std::span<const std::uint32_t> weights) const {
    const double bottom = bottom_at(weights);
    return bottom > 0 ? weighted_sum(weights, tops_) / bottom : nothing;
}

/// Nearest rank, as in proto/figures/distribution.hpp; counted from the nearer end.
double WeightedFigure::percentile_at(std::span<const std::uint32_t> weights) const {
    const auto count = static_cast<std::uint64_t>(bottom_at(weights));
    if (count == 0) {
        return nothing;
    }
    const std::uint64_t rank = nearest_rank(count, per_mille_);
    if (per_mille_ < all_per_mille / 2) {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            below += weights[unit_at_[i]];
            if (below >= rank) {
                return sorted_[i];
            }
        }
    }
    std::uint64_t up_to = count;
    for (std::size_t i = sorted_.size(); i-- > 0;) {
        const std::uint32_t weight = weights[unit_at_[i]];
        if (weight > 0 && up_to - weight < rank) {
            return sorted_[i];
        }
        up_to -= weight;
    }
    return nothing;
}

/// How far the percentile moves per share of values: 1 / density. Over the bandwidth of Hall and
/// Sheather's order, n^(-1/3), as far as the nearer end allows.
double WeightedFigure::spacing() const {
    const auto count = static_cast<double>(sorted_.size());
    const double p = per_mille_ / static_cast<double>(all_per_mille);
    const double half =
        std::min(std::max(0.5 * std::cbrt(1 / count), 0.02), 0.5 * std::min(p, 1 - p));
    const auto value_at = [&](double share) {
        const double rank = std::clamp(std::ceil(share * count), 1.0, count);
        return sorted_[static_cast<std::size_t>(rank) - 1];
    };
    return (value_at(p + half) - value_at(p - half)) / (2 * half);
}

std::vector<double> WeightedFigure::influence(const MetricTerms& terms, std::size_t run) const {
    const std::vector<RowTerm>& rows = terms.runs[run];
    std::vector<double> moves(rows.size(), 0);
    const double total = std::accumulate(bottoms_.begin(), bottoms_.end(), 0.0);
    if (total <= 0) {
        return moves;
    }
    const double p = per_mille_ / static_cast<double>(all_per_mille);
    const double step = per_mille_ > 0 ? spacing() : 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const RowTerm& term = rows[row];
        if (per_mille_ == 0) {
            moves[row] = (term.top - value_ * term.bottom) / total;
        } else if (term.bottom > 0) {
            moves[row] = (p - (term.top <= value_ ? 1.0 : 0.0)) * step / total;
        }
    }
    return moves;
}

}  // namespace driftless
