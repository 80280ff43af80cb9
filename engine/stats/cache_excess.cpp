#include "engine/stats/cache_excess.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

std::uint32_t clamped(std::uint64_t tokens) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, 0xFFFFFFFF));
}

/// Of a record that has one.
std::uint64_t forecast_of(const Record& record, std::uint64_t template_pre) {
    if (record.expected_cached_server) {
        return static_cast<std::uint64_t>(
            std::max<std::int64_t>(*record.expected_cached_server, 0));
    }
    const std::int64_t by_trace = record.expected_cached_tokens.value_or(0);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(by_trace, 0)) + template_pre +
           trace_block_max;
}

}  // namespace

void CacheExcess::add(const Record& record, std::uint64_t template_pre) {
    if (!record.fired_ns && record.outcome != Outcome::interrupted) {
        return;
    }
    const std::int64_t fired_ns = record.fired_ns.value_or(record.due_ns);
    const std::int64_t cached = std::max<std::int64_t>(record.cached_tokens.value_or(0), 0);
    const std::int64_t seen_ns = record.first_token_ns.value_or(record.ended_ns.value_or(fired_ns));
    // An earlier try, of this run or of a killed one, may have left its own prompt in the cache.
    const bool twice = record.stale_retries > 0 || record.segment > 0;
    // And hits of recorded text are no sign: what an empty cache allows is not known.
    const bool is_foretold = record.expected_cached_server || record.expected_cached_tokens;
    rows_.push_back(
        {record.row, twice || !is_foretold ? 0 : clamped(static_cast<std::uint64_t>(cached)),
         clamped(forecast_of(record, template_pre) + alike_tokens_max), fired_ns, seen_ns});
}

std::uint64_t CacheExcess::tokens() const {
    std::vector<Row> rows(rows_.begin(), rows_.end());
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.row < b.row; });
    // By time of the fire: the last place, in the order of the file, of all that had left by then.
    std::vector<std::pair<std::int64_t, std::size_t>> left;
    std::vector<std::uint64_t> forecasts = {0};  // [place] of all rows before it
    left.reserve(rows.size());
    forecasts.reserve(rows.size() + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        left.emplace_back(rows[i].fired_ns, i);
        forecasts.push_back(forecasts.back() + rows[i].forecast);
    }
    CHECK(forecasts.size() == rows.size() + 1 && left.size() == rows.size());
    std::sort(left.begin(), left.end());
    for (std::size_t i = 1; i < left.size(); ++i) {
        left[i].second = std::max(left[i].second, left[i - 1].second);
    }
    std::int64_t excess = 0;
    std::int64_t least = 0;  // of hits minus forecasts, of the rows before a stretch
    std::int64_t hits = 0;
    std::int64_t seen_ns = rows.empty() ? 0 : rows.front().seen_ns;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        least = std::min(least, hits - static_cast<std::int64_t>(forecasts[k]));
        hits += rows[k].cached;
        seen_ns = std::max(seen_ns, rows[k].seen_ns);
        const auto after =
            std::upper_bound(left.begin(), left.end(), seen_ns,
                             [](std::int64_t at, const auto& one) { return at < one.first; });
        const std::size_t last = std::max(k, after == left.begin() ? k : (after - 1)->second);
        CHECK(last < rows.size());
        excess = std::max(excess, hits - static_cast<std::int64_t>(forecasts[last + 1]) - least);
    }
    CHECK(excess >= 0);
    return static_cast<std::uint64_t>(excess);
}

}  // namespace driftless
