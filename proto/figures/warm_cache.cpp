#include "proto/figures/warm_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static std::uint32_t clamped(std::uint64_t tokens) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, 0xFFFFFFFF));
}

/// Of a record that has one.
static std::uint64_t forecast_of(const Record& record, std::uint64_t template_pre) {
    return record.expected_cached_server
               ? token_count(record.expected_cached_server)
               : token_count(record.expected_cached_tokens) + template_pre + trace_block_max;
}

void CacheExcess::add(const Record& record, std::uint64_t template_pre) {
    if (!record.fired_ns && record.outcome != Outcome::interrupted) {
        return;
    }
    const std::int64_t fired_ns = record.fired_ns.value_or(record.due_ns);
    const std::int64_t seen_ns = record.first_token_ns.value_or(record.ended_ns.value_or(fired_ns));
    // An earlier try, of this run or of a killed one, may have left its own prompt in the cache.
    const bool twice = record.stale_retries > 0 || record.segment > 0;
    // And hits of recorded text are no sign: what an empty cache allows is not known.
    const bool is_foretold = record.expected_cached_server || record.expected_cached_tokens;
    rows_.push_back(
        {record.row, twice || !is_foretold ? 0 : clamped(token_count(record.cached_tokens)),
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

/// Shards could not share a salt that each draws by itself; recorded text is the same with any.
static const char* remedy_of(const SummaryFigures& f) {
    if (f.is_recorded_text()) {
        return "repeat with --reset-cache, or restart the server";
    }
    return f.shard_role.others_send || f.shard_role.merged
               ? "repeat with another --cache-salt WORD, the same for all shards, or restart the "
                 "server"
               : "repeat with --cache-salt random or --reset-cache, or restart the server";
}

static constexpr const char* was_warm_text =
    "the prefix cache was warm from an earlier run, so TTFT is too low: ";

static constexpr const char* warm_somehow_text =
    "the prefix cache was warm from an earlier run or from other clients, so TTFT is too low: ";

static std::string percent_of(std::uint64_t part, std::uint64_t whole) {
    CHECK(whole > 0);
    return percent_text(static_cast<double>(part) / static_cast<double>(whole));
}

static std::string probe_figures(const CacheProbe& probe, const SummaryFigures& f) {
    return "before the first row " + std::to_string(probe.cached_tokens) + " of " +
           std::to_string(probe.tokens) +
           " tokens were cached of a prompt that only an earlier run of this " +
           (f.is_recorded_text() ? "trace" : "seed and salt") + " sends";
}

// More hits than even an infinite cache has that begins empty: it did not begin empty. The tokens
// that the server's template puts before each prompt are shared by all rows, and are no sign; what
// is expected by the server's own blocks has them already.
WarmRows warm_rows(const SummaryFigures& f) {
    if (f.shard_role.others_send || f.shard_role.forecast_apart) {
        return {};
    }
    const std::uint64_t rows = f.cache_rows_compared();
    const std::uint64_t hits = f.cached_tokens_compared();
    const bool blocks_known = f.compares_server_blocks();
    const std::uint64_t expected = f.expected_of_compared();
    const std::uint64_t shared = blocks_known ? 0 : f.template_pre * rows;
    const std::uint64_t alike =  // rows above are counted by the trace's blocks
        alike_tokens_max * (blocks_known ? rows : f.cache_rows_above);
    if (hits <= expected + shared + alike) {
        if (f.cache_excess == 0) {
            return {};
        }
        return {WarmRows::Finding::warm, "rows hit " + std::to_string(f.cache_excess) +
                                             " tokens that no earlier row of this run had sent, "
                                             "though in total no more than an empty cache can hit"};
    }
    const std::uint64_t excess = hits - expected - shared;
    const std::string figures =
        "the server reports " + std::to_string(hits) + " cached tokens, " +
        (expected == 0 ? std::string("but an empty cache can hit none")
                       : percent_of(hits, expected) + " of what an empty cache can hit");
    const bool may_be_blocks = !blocks_known && excess < f.cache_rows_above * trace_block_max;
    return {may_be_blocks ? WarmRows::Finding::smaller_blocks_or_warm : WarmRows::Finding::warm,
            figures};
}

std::optional<bool> was_warm(const SummaryFigures& figures, const CacheProbe& probe) {
    const WarmRows rows = warm_rows(figures);
    if (probe.state == CacheState::warm || rows.finding == WarmRows::Finding::warm) {
        return true;
    }
    if (probe.state == CacheState::cold) {
        return false;
    }
    const bool rows_tell = figures.cache_rows_compared() > 0 && !figures.shard_role.others_send &&
                           !figures.shard_role.forecast_apart;
    return rows_tell && rows.finding == WarmRows::Finding::nothing ? std::optional(false)
                                                                   : std::nullopt;
}

std::string warm_warning(const SummaryFigures& figures, const CacheProbe& probe) {
    const WarmRows rows = warm_rows(figures);
    const std::string remedy = remedy_of(figures);
    if (rows.finding == WarmRows::Finding::warm) {
        const bool unexplained =
            probe.state == CacheState::cold;  // the probe saw none of this trace
        return (unexplained ? warm_somehow_text : was_warm_text) + rows.figures + "; " + remedy;
    }
    if (probe.state == CacheState::warm) {
        return was_warm_text + probe_figures(probe, figures) + "; " + remedy;
    }
    if (rows.finding == WarmRows::Finding::nothing) {
        return "";
    }
    const std::string smaller = rows.figures + ": its blocks are smaller than the trace's";
    return probe.state == CacheState::cold
               ? smaller + " (a probe before the first row found the cache cold)"
               : smaller + ", or its cache was warm from an earlier run (then TTFT is too low: " +
                     remedy + ")";
}

std::string warm_reason(const SummaryFigures& figures, const CacheProbe& probe) {
    if (!was_warm(figures, probe).value_or(false)) {
        return "";
    }
    return "the server, not the client: its prefix cache was warm before the first row (" +
           (probe.state == CacheState::warm ? probe_figures(probe, figures)
                                            : warm_rows(figures).figures) +
           ")";
}

void write_warm_cache(JsonWriter& json, const SummaryFigures& figures, const CacheProbe& probe) {
    const FirstTurnFigures& first = figures.phase.first_turns;
    const std::uint64_t possible = first.expected_tokens + figures.template_pre * first.reported;
    const bool asked = probe.tokens > 0;
    const bool known = probe.state == CacheState::cold || probe.state == CacheState::warm;
    const bool reported = first.reported > 0;
    put(json,
        {{"warm_cache",
          JsonPairs{
              {"probe", probe.state},
              {"why", or_null(probe.why)},
              {"probe_tokens", known_if(asked, probe.tokens)},
              {"probe_cached_tokens", known_if(asked && known, probe.cached_tokens)},
              {"reset", or_null(probe.reset)},
              {"excess_tokens", known_if(figures.cache_rows_compared() > 0, figures.cache_excess)},
              {"first_turns", first.reported},
              {"first_turn_tokens", known_if(reported, first.input_tokens)},
              {"first_turn_hits", known_if(reported, first.cached_tokens)},
              {"first_turn_possible", known_if(reported && first.unforetold == 0, possible)},
              {"warm", was_warm(figures, probe)}}}});
}

}  // namespace driftless
