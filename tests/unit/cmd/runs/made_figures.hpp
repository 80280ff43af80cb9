/// Figures of a run as tests make them: no two distributions are alike.
#pragma once

#include "proto/figures/summary.hpp"
#include "tests/std.hpp"

namespace driftless {

inline Distribution made_distribution(double from) {
    Distribution d{.count = 190, .mean = 2 * from, .min = from, .max = 3 * from};
    for (std::size_t i = 0; i < d.at.size(); ++i) {
        d.at[i] = from * (4 + static_cast<double>(i));
    }
    return d;
}

/// Of a run in which every figure has a value.
inline SummaryFigures made_figures() {
    SummaryFigures f{
        .rows = 200, .completed = 180, .short_output = 6, .long_output = 4, .failed = 10};
    f.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 2;
    f.tainted_rows = 7;
    f.follow_up_turns = 50;
    f.overtaken_turns = 3;
    f.goodput_rules = {{{}, "", {1'000'000, std::nullopt, std::nullopt}}};
    f.goodput_counts = {{200, 90}};
    f.good = 90;
    f.request_goodput = 4.5;
    f.request_throughput = 12.5;
    f.output_throughput = 321.5;
    f.total_token_throughput = 4321.5;
    f.duration_ns = 12'000'000'000;
    f.input_tokens = 48'000;
    f.output_tokens = 16'000;
    f.cache_rows_reported = 150;
    f.cached_tokens = 30'000;
    f.expected_cached_tokens = f.expected_cached_tokens_reported = 40'000;
    double from = 1e6;
    for (Distribution* one :
         {&f.ttft, &f.ttft_due, &f.tpot, &f.itl, &f.e2e, &f.chunk_gap, &f.sending.drift}) {
        *one = made_distribution(from);
        from *= 1.5;
    }
    return f;
}

}  // namespace driftless
