#include "engine/inspect/arrivals.hpp"

#include <algorithm>
#include <cmath>

namespace driftless {

namespace {

const TraceRow& row_of(const Trace& trace, const Planned& planned) {
    return trace.rows[planned.row];
}

void count_instants(const Trace& trace, std::span<const Planned> rows, ArrivalFigures& figures) {
    Burst burst;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == 0 || rows[i].due_ns != rows[i - 1].due_ns) {
            burst = {0, 0, rows[i].due_ns};
            ++figures.instants;
        }
        ++burst.rows;
        burst.input_tokens += row_of(trace, rows[i]).input_length;
        if (burst.rows > figures.most_rows.rows || burst.at_ns == figures.most_rows.at_ns) {
            figures.most_rows = burst;
        }
        if (burst.input_tokens > figures.most_tokens.input_tokens ||
            burst.at_ns == figures.most_tokens.at_ns) {
            figures.most_tokens = burst;
        }
    }
}

Peak peak_of(const Trace& trace, std::span<const Planned> rows, std::int64_t window_ns) {
    Peak peak;
    std::uint64_t tokens = 0;
    std::size_t first = 0;
    std::uint64_t inside = 0;
    std::int64_t last_window = -1;
    for (std::size_t last = 0; last < rows.size(); ++last) {
        tokens += row_of(trace, rows[last]).input_length;
        for (; rows[last].due_ns - rows[first].due_ns >= window_ns; ++first) {
            tokens -= row_of(trace, rows[first]).input_length;
        }
        peak.rows_anywhere = std::max<std::uint64_t>(peak.rows_anywhere, last - first + 1);
        peak.input_tokens_anywhere = std::max(peak.input_tokens_anywhere, tokens);
        const std::int64_t window = rows[last].due_ns / window_ns;
        inside = window == last_window ? inside + 1 : 1;
        last_window = window;
        peak.rows = std::max(peak.rows, inside);
    }
    return peak;
}

/// Variance / mean of the counts in `windows` windows; rows behind them are left out.
double dispersion_of(std::span<const Planned> rows, std::int64_t window_ns, std::uint64_t windows) {
    if (windows < dispersion_windows_min) {
        return unknown_figure;
    }
    double sum = 0;
    double squares = 0;
    for (std::size_t begin = 0; begin < rows.size();) {
        const std::int64_t window = rows[begin].due_ns / window_ns;
        if (static_cast<std::uint64_t>(window) >= windows) {
            break;
        }
        std::size_t end = begin;
        while (end < rows.size() && rows[end].due_ns / window_ns == window) {
            ++end;
        }
        const auto count = static_cast<double>(end - begin);
        sum += count;
        squares += count * count;
        begin = end;
    }
    const double mean = sum / static_cast<double>(windows);
    return (squares / static_cast<double>(windows) - mean * mean) / mean;
}

double gap_variation_of(std::span<const Planned> rows) {
    if (rows.size() < 3 || rows.back().due_ns == rows.front().due_ns) {
        return unknown_figure;
    }
    const auto gaps = static_cast<double>(rows.size() - 1);
    const double mean = static_cast<double>(rows.back().due_ns - rows.front().due_ns) / gaps;
    double squares = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const double off = static_cast<double>(rows[i].due_ns - rows[i - 1].due_ns) - mean;
        squares += off * off;
    }
    return std::sqrt(squares / gaps) / mean;
}

}  // namespace

ArrivalFigures arrivals_of(const Trace& trace, std::span<const Planned> recorded,
                           std::span<const Planned> spread) {
    ArrivalFigures figures;
    if (recorded.empty()) {
        return figures;
    }
    figures.span_ns = recorded.back().due_ns;
    if (figures.span_ns > 0) {
        figures.rows_per_s =
            static_cast<double>(recorded.size()) * 1e9 / static_cast<double>(figures.span_ns);
    }
    count_instants(trace, recorded, figures);
    for (std::size_t i = 0; i < windows_ns.size(); ++i) {
        const std::int64_t window = windows_ns[i];
        figures.peaks[i] = peak_of(trace, recorded, window);
        const auto windows = static_cast<std::uint64_t>(figures.span_ns / window);
        figures.dispersion[i] = {windows, dispersion_of(recorded, window, windows),
                                 dispersion_of(spread, window, windows)};
    }
    figures.gap_variation = gap_variation_of(recorded);
    figures.gap_variation_spread = gap_variation_of(spread);
    return figures;
}

std::int64_t bucket_for(std::int64_t span_ns) {
    constexpr std::int64_t ms = 1'000'000;
    constexpr std::int64_t s = 1000 * ms;
    constexpr std::int64_t round_ns[] = {
        ms,      2 * ms,  5 * ms,   10 * ms,  20 * ms,  50 * ms,   100 * ms,  200 * ms,  500 * ms,
        s,       2 * s,   5 * s,    10 * s,   15 * s,   30 * s,    60 * s,    120 * s,   300 * s,
        600 * s, 900 * s, 1800 * s, 3600 * s, 7200 * s, 14400 * s, 28800 * s, 43200 * s, 86400 * s};
    const auto buckets = [&](std::int64_t bucket) {
        return static_cast<std::uint64_t>(span_ns / bucket) + 1;
    };
    for (const std::int64_t bucket : round_ns) {
        if (buckets(bucket) <= timeline_buckets_max) {
            return bucket;
        }
    }
    const std::int64_t day = 86400 * s;
    return (span_ns / day / static_cast<std::int64_t>(timeline_buckets_max) + 1) * day;
}

Timeline timeline_of(const Trace& trace, std::span<const Planned> rows) {
    Timeline line;
    const std::int64_t span_ns = rows.empty() ? 0 : rows.back().due_ns;
    line.bucket_ns = bucket_for(span_ns);
    const auto buckets = static_cast<std::size_t>(span_ns / line.bucket_ns) + 1;
    for (auto* values : {&line.rows, &line.input_tokens, &line.output_tokens, &line.blocks_used,
                         &line.blocks_new}) {
        values->assign(buckets, 0);
    }
    for (const Planned& planned : rows) {
        const auto bucket = static_cast<std::size_t>(planned.due_ns / line.bucket_ns);
        ++line.rows[bucket];
        line.input_tokens[bucket] += row_of(trace, planned).input_length;
        line.output_tokens[bucket] += row_of(trace, planned).output_length;
    }
    return line;
}

}  // namespace driftless
