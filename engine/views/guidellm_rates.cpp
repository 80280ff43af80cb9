#include "engine/views/guidellm_rates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace driftless {

namespace {

constexpr double merged_within_s = 1e-4;
constexpr double last_duration_min_s = 1e-6;

/// Sorted by time: each group within 0.1 ms of its first becomes one at that first.
std::vector<WeightedValue> merged(std::vector<WeightedValue> times) {
    std::stable_sort(times.begin(), times.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<WeightedValue> out;
    double previous = 0;
    for (const auto& [at, weight] : times) {
        const bool in_run = !out.empty() && at - previous <= merged_within_s;
        if (in_run && at <= out.back().first + merged_within_s) {
            out.back().second += weight;
        } else {
            out.emplace_back(at, weight);
        }
        previous = at;
    }
    return out;
}

}  // namespace

WeightedFigures rate_distribution(std::vector<WeightedValue> times, double start, double end) {
    std::erase_if(times, [start, end](const WeightedValue& one) {
        return one.first < start || one.first > end;
    });
    times.insert(times.begin(), {start, 0});
    times.emplace_back(end, 0);
    const std::vector<WeightedValue> events = merged(std::move(times));
    if (events.size() <= 1) {
        return weighted_figures({}, static_cast<std::int64_t>(events.size()));
    }
    std::vector<WeightedValue> rates;
    double total = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const double before =
            i == 0 ? events[i].first : (events[i - 1].first + events[i].first) / 2;
        const double behind =
            i + 1 == events.size() ? events[i].first : (events[i].first + events[i + 1].first) / 2;
        const double duration = i + 1 == events.size()
                                    ? std::max(behind - before, last_duration_min_s)
                                    : behind - before;
        rates.emplace_back(events[i].second / duration, duration);
        total += events[i].second;
    }
    return weighted_figures(std::move(rates), std::llround(total));
}

WeightedFigures concurrency_distribution(const std::vector<WeightedValue>& intervals, double start,
                                         double end) {
    std::vector<WeightedValue> changes;
    std::int64_t count = 0;
    for (const auto& [begin, until] : intervals) {
        if (until >= start && begin <= end) {
            changes.emplace_back(begin, 1);
            changes.emplace_back(until, -1);
            ++count;
        }
    }
    changes = merged(std::move(changes));
    if (changes.empty()) {
        return weighted_figures({}, 0);
    }
    double before = 0;
    std::vector<WeightedValue> inside;
    for (const WeightedValue& change : changes) {
        if (change.first < start) {
            before += change.second;
        } else if (change.first <= end) {
            inside.push_back(change);
        }
    }
    inside.insert(inside.begin(), {start, before});
    inside.emplace_back(end, 0);
    std::vector<WeightedValue> levels;
    double open = 0;
    double time = 0;
    for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
        open += inside[i].second;
        const double lasted = std::max(inside[i + 1].first - inside[i].first, 0.0);
        levels.emplace_back(std::max(open, 0.0), lasted);
        time += lasted;
    }
    return time > 0 ? weighted_figures(std::move(levels), count) : weighted_figures({}, count);
}

}  // namespace driftless
