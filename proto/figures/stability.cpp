#include "proto/figures/stability.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace driftless {

namespace {

constexpr std::size_t batches = 10;
constexpr std::size_t third = 3;
constexpr std::size_t rows_min = 4 * batches;
constexpr double z_min = 3.3;
constexpr double ratio_min = 1.5;
constexpr double late_share_min = 0.2;

using Means = std::array<double, batches>;

double mean_of(const Means& means, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) {
        sum += means[i];
    }
    return sum / static_cast<double>(to - from);
}

/// Normal approximation with continuity correction; ties count as nothing.
double mann_kendall_z(const Means& means) {
    int score = 0;
    for (std::size_t i = 0; i < batches; ++i) {
        for (std::size_t j = i + 1; j < batches; ++j) {
            score += means[j] > means[i] ? 1 : means[j] < means[i] ? -1 : 0;
        }
    }
    constexpr double n = batches;
    return score <= 0 ? 0 : (score - 1) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

double ratio_of(const Means& means) {
    const double first = mean_of(means, 0, third);
    return first > 0 ? mean_of(means, batches - third, batches) / first : 0;
}

bool rises(const Means& means) {
    const double first = mean_of(means, 0, third);
    const double middle = mean_of(means, third, batches - third);
    const double last = mean_of(means, batches - third, batches);
    return mann_kendall_z(means) > z_min && last > ratio_min * first &&
           last - middle > late_share_min * (last - first);
}

/// Median time from the first token to the end. The wait for the first token is not in it: it grows
/// with the run where a server is overloaded.
std::int64_t median_answer_ns(const std::vector<RowTimes>& rows) {
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

struct BatchMeans {
    Means waiting{};  ///< rows that were due and had not ended
    Means ttft{};     ///< ns, from the due instant
};

/// Of `rows`, sorted by due, those from `skipped` on.
BatchMeans batch_means(const std::vector<RowTimes>& rows, std::size_t skipped) {
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

}  // namespace

StabilityFinding judge_stability(std::vector<RowTimes> rows) {
    if (rows.size() < rows_min) {
        return {};
    }
    std::sort(rows.begin(), rows.end(),
              [](const RowTimes& a, const RowTimes& b) { return a.due_ns < b.due_ns; });
    const std::int64_t first_ns = rows.front().due_ns;
    const std::int64_t from_ns =
        first_ns + std::min(median_answer_ns(rows), (rows.back().due_ns - first_ns) / 2);
    const auto begin = std::find_if(rows.begin(), rows.end(),
                                    [&](const RowTimes& row) { return row.due_ns >= from_ns; });
    const auto skipped = static_cast<std::size_t>(begin - rows.begin());
    if (rows.size() - skipped < rows_min) {
        return {};
    }
    const auto [waiting, ttft] = batch_means(rows, skipped);
    const bool both = rises(waiting) && rises(ttft);
    return {both ? Stability::unstable : Stability::stable, ratio_of(waiting), ratio_of(ttft)};
}

}  // namespace driftless
