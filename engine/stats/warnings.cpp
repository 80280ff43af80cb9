#include "engine/stats/warnings.hpp"

#include <cstdint>
#include <utility>

#include "engine/stats/cache_excess.hpp"
#include "engine/stats/run_description.hpp"
#include "engine/stats/summary.hpp"
#include "proto/core/check.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
    CHECK(whole > 0);
    return percent_text(static_cast<double>(part) / static_cast<double>(whole));
}

/// More hits than even an infinite cache has that begins empty: it did not begin empty. The tokens
/// that the server's template puts before each prompt are shared by all rows, and are no sign; what
/// is expected by the server's own blocks has them already.
std::string warm_cache(const SummaryFigures& f) {
    const bool blocks_known =
        f.server_cache_rows > 0 && f.server_cache_rows == f.cache_rows_reported;
    const std::uint64_t expected =
        blocks_known ? f.server_cache_expected : f.expected_cached_tokens_reported;
    const std::uint64_t shared = blocks_known ? 0 : f.template_pre * f.cache_rows_reported;
    const char* remedy = "repeat with --cache-salt random, or restart the server";
    const std::uint64_t alike =  // rows above are counted by the trace's blocks
        alike_tokens_max * (blocks_known ? f.cache_rows_reported : f.cache_rows_above);
    if (f.cached_tokens <= expected + shared + alike) {
        return f.cache_excess == 0
                   ? ""
                   : "the prefix cache was warm from an earlier run, so TTFT is too low: rows "
                     "hit " +
                         std::to_string(f.cache_excess) +
                         " tokens that no row of this run had sent before them, though in sum no "
                         "more than an empty cache can hit; " +
                         remedy;
    }
    const std::uint64_t excess = f.cached_tokens - expected - shared;
    const std::string figures =
        "the server reports " + std::to_string(f.cached_tokens) + " cached tokens, " +
        (expected == 0 ? std::string("and none can hit in an empty cache")
                       : percent_of(f.cached_tokens, expected) + " of what an empty cache can hit");
    if (!blocks_known && excess < f.cache_rows_above * trace_block_max) {
        return figures +
               ": its blocks are smaller than the trace's, or its cache was warm from an "
               "earlier run (then TTFT is too low: " +
               remedy + ")";
    }
    return "the prefix cache was warm from an earlier run, so TTFT is too low: " + figures + "; " +
           remedy;
}

}  // namespace

std::vector<std::string> warnings_of(const SummaryFigures& figures) {
    std::vector<std::string> warnings;
    if (std::string text = warm_cache(figures); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    return warnings;
}

void add_warnings(SummaryFigures& figures, const RunDescription& run) {
    for (const std::string& argument : run.arguments) {
        if (argument.starts_with("--grow=")) {
            figures.warnings.push_back(
                "the run adapted its load (" + argument + "): it ended with " +
                counted(figures.phase.users, "user", "users") +
                ", and its figures are of no one load and not to be published; repeat with a fixed "
                "number (--users N)");
        }
    }
}

}  // namespace driftless
