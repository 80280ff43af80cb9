#include "engine/inspect/likeness.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/inspect/figures.hpp"

namespace driftless {
namespace {

constexpr std::size_t sizes_compared = 5;
constexpr std::uint64_t size_step = 4;

std::vector<double> lengths_of(const Trace& trace, std::uint32_t TraceRow::* length) {
    std::vector<double> values;
    values.reserve(trace.rows.size());
    for (const TraceRow& row : trace.rows) {
        values.push_back(row.*length);
    }
    return values;
}

std::vector<double> gaps_of(const TreeTrace& one) {
    std::vector<std::int64_t> last;  // [tree]
    std::vector<double> gaps;
    for (std::size_t i = 0; i < one.trace.rows.size(); ++i) {
        const std::uint32_t tree = one.tree_of_row[i];
        if (tree >= last.size()) {
            last.resize(tree + std::size_t{1}, -1);
        }
        const std::int64_t at_ns = one.trace.rows[i].at_ns;
        if (last[tree] >= 0) {
            gaps.push_back(static_cast<double>(at_ns - last[tree]));
        }
        last[tree] = at_ns;
    }
    return gaps;
}

Result<CapacityFigures> capacity_of(const Trace& trace) {
    InspectOptions options;
    options.block_sizes = {trace.block_size};
    const Result<InspectFigures> figures = inspect_trace(trace, options);
    return figures ? Result<CapacityFigures>(figures.value().capacity.front()) : figures.error();
}

/// The share of tokens that a cache of so many blocks, a power of two, hits.
double hit_rate(const CapacityFigures& figures, std::uint64_t blocks) {
    std::uint64_t hits = 0;
    for (const CapacityPoint& point : figures.curve) {
        hits = point.blocks <= blocks ? point.hit_tokens : hits;
    }
    return static_cast<double>(hits) / static_cast<double>(figures.input_tokens);
}

}  // namespace

double greatest_distance(std::vector<double> a, std::vector<double> b) {
    if (a.empty() || b.empty()) {
        return a.empty() == b.empty() ? 0 : 1;
    }
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    double greatest = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        const double value = std::min(a[i], b[j]);
        while (i < a.size() && a[i] <= value) {
            ++i;
        }
        while (j < b.size() && b[j] <= value) {
            ++j;
        }
        greatest =
            std::max(greatest, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                        static_cast<double>(j) / static_cast<double>(b.size())));
    }
    return greatest;
}

Result<Likeness> likeness_of(const TreeTrace& before, const TreeTrace& after) {
    Likeness likeness;
    likeness.input = greatest_distance(lengths_of(before.trace, &TraceRow::input_length),
                                       lengths_of(after.trace, &TraceRow::input_length));
    likeness.output = greatest_distance(lengths_of(before.trace, &TraceRow::output_length),
                                        lengths_of(after.trace, &TraceRow::output_length));
    std::vector<double> gaps = gaps_of(before);
    likeness.gaps_before = gaps.size();
    likeness.gaps = greatest_distance(std::move(gaps), gaps_of(after));
    if (before.trace.block_size == 0) {
        return likeness;
    }
    const Result<CapacityFigures> old_figures = capacity_of(before.trace);
    const Result<CapacityFigures> new_figures = capacity_of(after.trace);
    if (!old_figures || !new_figures) {
        return old_figures ? new_figures.error() : old_figures.error();
    }
    const std::vector<CapacityPoint>& curve = old_figures.value().curve;
    std::uint64_t blocks = curve.empty() ? 1 : std::bit_floor(curve.back().blocks);
    for (std::size_t i = 0; i < sizes_compared && blocks > 0; ++i, blocks /= size_step) {
        likeness.curve.push_back(
            {blocks, hit_rate(old_figures.value(), blocks), hit_rate(new_figures.value(), blocks)});
    }
    std::reverse(likeness.curve.begin(), likeness.curve.end());
    for (const HitRatePair& pair : likeness.curve) {
        likeness.curve_worst = std::max(likeness.curve_worst, std::abs(pair.after - pair.before));
    }
    return likeness;
}

}  // namespace driftless
