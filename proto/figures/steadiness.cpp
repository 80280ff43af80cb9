#include "proto/figures/steadiness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>

namespace driftless {

static constexpr std::size_t rows_min = 100;
static constexpr std::size_t mser_batch = 5;
static constexpr std::size_t trend_batches = 20;
static constexpr std::size_t trend_values_min = 2 * trend_batches;
static constexpr double trend_p_max = 0.01;
static constexpr double little_within = 0.05;
static constexpr std::size_t lags_max = 2000;
/// Bins of time: a few requests each, so that a bin is no row of its own.
static constexpr std::size_t bins_min = 100;
static constexpr std::size_t bins_max = 1000;

namespace {

struct Bins {
    std::int64_t first_ns = 0;
    std::int64_t width_ns = 1;
    std::vector<double> in_flight;  ///< mean of each

    std::int64_t begin_of(std::size_t bin) const {
        return first_ns + static_cast<std::int64_t>(bin) * width_ns;
    }
};

}  // namespace

/// Exact: each request adds to a bin the share of it in which it was in flight.
static Bins bins_of(const std::vector<SteadyRow>& rows, std::int64_t first_ns,
                    std::int64_t last_ns) {
    const std::size_t count = std::clamp(rows.size() / 5, bins_min, bins_max);
    Bins bins;
    bins.first_ns = first_ns;
    bins.width_ns =
        std::max<std::int64_t>((last_ns - first_ns) / static_cast<std::int64_t>(count), 1);
    bins.in_flight.assign(count, 0);
    // A request that covers a bin whole is kept as a difference, so that long ones cost no more.
    std::vector<double> opened(count + 1, 0);
    const auto width = static_cast<double>(bins.width_ns);
    for (const SteadyRow& row : rows) {
        const auto bin_at = [&](std::int64_t at_ns) {
            const std::int64_t bin = (at_ns - first_ns) / bins.width_ns;
            return std::min(static_cast<std::size_t>(std::max<std::int64_t>(bin, 0)), count - 1);
        };
        const std::size_t from = bin_at(row.fired_ns);
        const std::size_t to = bin_at(row.ended_ns);
        if (from == to) {
            bins.in_flight[from] += static_cast<double>(row.ended_ns - row.fired_ns) / width;
            continue;
        }
        bins.in_flight[from] += static_cast<double>(bins.begin_of(from + 1) - row.fired_ns) / width;
        bins.in_flight[to] += static_cast<double>(row.ended_ns - bins.begin_of(to)) / width;
        opened[from + 1] += 1;
        opened[to] -= 1;
    }
    double open = 0;
    for (std::size_t i = 0; i < count; ++i) {
        open += opened[i];
        bins.in_flight[i] += open;
    }
    return bins;
}

static TrendFinding trend_of(std::span<const double> values) {
    if (values.size() < trend_values_min) {
        return {};
    }
    std::vector<double> means(trend_batches, 0);
    for (std::size_t i = 0; i < trend_batches; ++i) {
        const std::size_t from = i * values.size() / trend_batches;
        const std::size_t to = (i + 1) * values.size() / trend_batches;
        for (std::size_t j = from; j < to; ++j) {
            means[i] += values[j] / static_cast<double>(to - from);
        }
    }
    return mann_kendall(means);
}

static double autocovariance(std::span<const double> values, double mean, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < values.size(); ++i) {
        sum += (values[i] - mean) * (values[i + lag] - mean);
    }
    return sum / static_cast<double>(values.size());
}

/// Mean in flight between two instants, from all requests that touch the time between them.
static double mean_in_flight(const std::vector<SteadyRow>& rows, std::int64_t begin,
                             std::int64_t end) {
    double sum = 0;
    for (const SteadyRow& row : rows) {
        const std::int64_t inside = std::min(row.ended_ns, end) - std::max(row.fired_ns, begin);
        sum += static_cast<double>(std::max<std::int64_t>(inside, 0));
    }
    return end > begin ? sum / static_cast<double>(end - begin) : 0;
}

static void measure_window(SteadyState& state, const std::vector<SteadyRow>& rows) {
    std::vector<double> ttfts;
    double time_ns = 0;
    for (const SteadyRow& row : rows) {  // sorted by their fires
        if (row.fired_ns < state.begin_ns || row.fired_ns >= state.end_ns) {
            continue;
        }
        ++state.requests;
        time_ns += static_cast<double>(row.ended_ns - row.fired_ns);
        if (row.ttft_ns) {
            ttfts.push_back(static_cast<double>(*row.ttft_ns));
        }
    }
    constexpr double second_ns = 1e9;
    const auto requests = static_cast<double>(state.requests);
    const auto length = static_cast<double>(state.length_ns());
    state.in_flight = mean_in_flight(rows, state.begin_ns, state.end_ns);
    state.rate = length > 0 ? requests / (length / second_ns) : 0;
    state.time_s = state.requests > 0 ? time_ns / requests / second_ns : 0;
    state.ttfts = ttfts.size();
    state.ttft_trend = trend_of(ttfts);
    state.effective = ttfts.empty() ? 0 : effective_sample_size(ttfts);
}

std::size_t mser5(std::span<const double> values) {
    const std::size_t count = values.size() / mser_batch;
    std::vector<double> means(count, 0);
    for (std::size_t i = 0; i < count * mser_batch; ++i) {
        means[i / mser_batch] += values[i] / static_cast<double>(mser_batch);
    }
    // From the back: mean and squares of means[cut..] by Welford's update.
    std::size_t best = 0;
    double least = 0;
    double mean = 0;
    double squares = 0;
    for (std::size_t cut = count; cut-- > 0;) {
        const auto kept = static_cast<double>(count - cut);
        const double off = means[cut] - mean;
        mean += off / kept;
        squares += off * (means[cut] - mean);
        const double statistic = squares / (kept * kept);
        if (cut <= count / 2 && (cut == count / 2 || statistic <= least)) {
            least = statistic;
            best = cut;
        }
    }
    return best * mser_batch;
}

TrendFinding mann_kendall(std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    double score = 0;
    std::map<double, double> equals;
    for (std::size_t i = 0; i < values.size(); ++i) {
        equals[values[i]] += 1;
        for (std::size_t j = i + 1; j < values.size(); ++j) {
            score += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
        }
    }
    double variance = n * (n - 1) * (2 * n + 5);
    for (const auto& [value, count] : equals) {
        variance -= count * (count - 1) * (2 * count + 5);
    }
    variance /= 18;
    TrendFinding finding;
    finding.known = variance > 0;
    if (finding.known && score != 0) {
        finding.z = (score - (score > 0 ? 1 : -1)) / std::sqrt(variance);
        finding.p = std::erfc(std::fabs(finding.z) / std::sqrt(2.0));
    }
    return finding;
}

double effective_sample_size(std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    if (values.size() < 4) {
        return n;
    }
    double mean = 0;
    for (const double value : values) {
        mean += value / n;
    }
    const double variance = autocovariance(values, mean, 0);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (*least == *most) {
        return n;
    }
    // Pairs of neighbouring lags, as long as their sum is above 0, and never above the one before.
    double sum = 0;
    double before = 2;
    const std::size_t lags = std::min(values.size() / 2, lags_max);
    for (std::size_t lag = 0; lag + 1 < lags; lag += 2) {
        const double pair =
            (autocovariance(values, mean, lag) + autocovariance(values, mean, lag + 1)) / variance;
        if (pair <= 0) {
            break;
        }
        before = std::min(before, pair);
        sum += before;
    }
    return std::clamp(n / std::max(2 * sum - 1, 1.0), 1.0, n);
}

bool SteadyState::little_holds() const {
    return in_flight > 0 && std::fabs(little_difference()) <= little_within;
}

bool SteadyState::is_steady() const {
    const auto still = [](const TrendFinding& trend) { return trend.p >= trend_p_max; };
    return found && still(in_flight_trend) && still(ttft_trend) && little_holds();
}

SteadyState find_steady_state(std::vector<SteadyRow> rows) {
    SteadyState state;
    if (rows.empty()) {
        return state;
    }
    std::ranges::sort(rows, {}, &SteadyRow::fired_ns);
    state.first_ns = rows.front().fired_ns;
    state.last_ns =
        std::max(state.first_ns, std::ranges::max(rows, {}, &SteadyRow::ended_ns).ended_ns);
    state.begin_ns = state.first_ns;
    state.end_ns = state.last_ns;
    if (rows.size() < rows_min || state.last_ns == state.first_ns) {
        measure_window(state, rows);
        return state;
    }
    state.found = true;
    Bins bins = bins_of(rows, state.first_ns, state.last_ns);
    const std::size_t front = mser5(bins.in_flight);
    std::vector<double> turned(bins.in_flight.rbegin(), bins.in_flight.rend());
    const std::size_t back = bins.in_flight.size() - mser5(turned);
    state.begin_ns = bins.begin_of(front);
    state.end_ns = back == bins.in_flight.size() ? state.last_ns : bins.begin_of(back);
    state.end_ns = std::max(std::min(state.end_ns, rows.back().fired_ns), state.begin_ns);
    const auto behind = static_cast<std::size_t>((state.end_ns - bins.first_ns) / bins.width_ns);
    const std::size_t last = std::clamp(behind, front, bins.in_flight.size());
    state.in_flight_trend = trend_of(std::span(bins.in_flight).subspan(front, last - front));
    measure_window(state, rows);
    return state;
}

static constexpr std::size_t batches = 10;
static constexpr std::size_t third = 3;
static constexpr std::size_t rows_judged_min = 4 * batches;
static constexpr double z_min = 3.3;
static constexpr double ratio_min = 1.5;
static constexpr double late_share_min = 0.2;

namespace {

using Means = std::array<double, batches>;

}  // namespace

static double mean_of(const Means& means, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) {
        sum += means[i];
    }
    return sum / static_cast<double>(to - from);
}

static double ratio_of(const Means& means) {
    const double first = mean_of(means, 0, third);
    return first > 0 ? mean_of(means, batches - third, batches) / first : 0;
}

static bool rises(const Means& means) {
    const double first = mean_of(means, 0, third);
    const double middle = mean_of(means, third, batches - third);
    const double last = mean_of(means, batches - third, batches);
    return mann_kendall(means).z > z_min && last > ratio_min * first &&
           last - middle > late_share_min * (last - first);
}

/// Median time from the first token to the end. The wait for the first token is not in it: it grows
/// with the run where a server is overloaded.
static std::int64_t median_answer_ns(const std::vector<RowTimes>& rows) {
    std::vector<std::int64_t> times;
    times.reserve(rows.size());
    for (const RowTimes& row : rows) {
        if (row.first_token_ns) {
            times.push_back(row.ended_ns - *row.first_token_ns);
        }
    }
    if (times.empty()) {
        return 0;
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

namespace {

struct BatchMeans {
    Means waiting{};  ///< rows that were due and had not ended
    Means ttft{};     ///< ns, from the due instant
};

}  // namespace

/// Of `rows`, sorted by due, those from `skipped` on.
static BatchMeans batch_means(const std::vector<RowTimes>& rows, std::size_t skipped) {
    std::vector<std::int64_t> ends;
    ends.reserve(rows.size());
    for (const RowTimes& row : rows) {
        ends.push_back(row.ended_ns);
    }
    std::sort(ends.begin(), ends.end());
    const std::size_t count = rows.size() - skipped;
    BatchMeans means;
    for (std::size_t batch = 0; batch < batches; ++batch) {
        const std::size_t from = skipped + batch * count / batches;
        const std::size_t to = skipped + (batch + 1) * count / batches;
        for (std::size_t i = from; i < to; ++i) {
            const RowTimes& row = rows[i];
            const auto ended = std::upper_bound(ends.begin(), ends.end(), row.due_ns);
            means.waiting[batch] +=
                static_cast<double>(i) - static_cast<double>(ended - ends.begin());
            means.ttft[batch] +=
                static_cast<double>(row.first_token_ns.value_or(row.ended_ns) - row.due_ns);
        }
        means.waiting[batch] /= static_cast<double>(to - from);
        means.ttft[batch] /= static_cast<double>(to - from);
    }
    return means;
}

StabilityFinding judge_stability(std::vector<RowTimes> rows) {
    if (rows.size() < rows_judged_min) {
        return {};
    }
    std::ranges::sort(rows, {}, &RowTimes::due_ns);
    const std::int64_t first_ns = rows.front().due_ns;
    const std::int64_t from_ns =
        first_ns + std::min(median_answer_ns(rows), (rows.back().due_ns - first_ns) / 2);
    const auto begin = std::ranges::lower_bound(rows, from_ns, {}, &RowTimes::due_ns);
    const auto skipped = static_cast<std::size_t>(begin - rows.begin());
    if (rows.size() - skipped < rows_judged_min) {
        return {};
    }
    const auto [waiting, ttft] = batch_means(rows, skipped);
    const bool both = rises(waiting) && rises(ttft);
    return {both ? Stability::unstable : Stability::stable, ratio_of(waiting), ratio_of(ttft)};
}

}  // namespace driftless
