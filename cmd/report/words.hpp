/// Words that the tables, the progress line and Markdown share. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/figures/summary.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// A part of a whole in percent, "12.50 %"; "-" where the whole is 0.
std::string share(std::uint64_t part, std::uint64_t whole);

/// "1 row", "12,031 rows".
std::string rows_text(std::uint64_t rows);

/// Whether `--continuous-usage`, a wish of OpenAI's APIs, can count the tokens of each chunk there.
/// `backend` is the name of the dialect.
bool can_count_chunk_tokens(std::string_view backend);

/// Rows that are ok and have no TPOT, by the reason: all tokens at one instant, a server that
/// counts none, or a loss in this client.
std::vector<std::string> no_tpot_texts(const SummaryFigures& figures);
/// The same of those that have no ITL: also where several tokens come a chunk and are counted at
/// the end only, or chunks were not kept.
std::vector<std::string> no_itl_texts(const SummaryFigures& figures, const SummaryInfo& info);
/// "240 of exactly the recorded length, 0 off, 0 not reported", and whose fault an unknown one is.
std::string prompts_text(const PromptFigures& prompts);

/// What to do about turns that were sent before the turn before them had ended, where the trace
/// allows anything.
const char* overtaken_remedy(const SummaryInfo& info);
/// How many turns held answers of the run, and how long they were beside what was recorded.
std::string live_text(const LiveSums& live);
/// What became of requests that were abandoned; there are some.
std::string abandoned_text(const AbandonedSums& abandoned);

/// Why a row failed, for people: the server's own words, else what the outcome means.
std::string failure_text(Outcome outcome, const std::string& said);

/// "http_5xx 12, truncated 3": the failures among these outcomes, but for `without`.
std::string failed_kinds(const std::array<std::uint64_t, outcome_count>& outcomes,
                         Outcome without = Outcome::ok);

/// What the cached tokens that a server reports can be compared with.
enum class CacheAnswer : std::uint8_t {
    none,          ///< it reports none
    not_foretold,  ///< it reports some, and nothing is expected: the prompts are recorded text
    only_zeros,    ///< it reports 0 for every row although hits are expected: no rate of misses
    by_trace_blocks,
    by_server_blocks,  ///< its own blocks are known, and explain as many rows as the trace's or
                       ///< more
};
CacheAnswer cache_answer(const SummaryFigures& f, const SummaryInfo& info);
/// Whether both kinds of blocks say the same.
bool same_cache_forecasts(const SummaryFigures& f);

/// Why there are no hits, whose loss that is, and what was expected: the line of `none`.
std::string no_hits_text(const SummaryFigures& f);

/// Why hits of recorded text are compared with nothing.
inline constexpr const char* why_not_foretold = "not forecast: the prompts are recorded text";

/// What may be the reason of `only_zeros`.
inline constexpr const char* why_only_zeros =
    "it may not count hits, or its cache is off or too small";

// Words of the summary for what a run sent and got. Pure; for the screen alone.

/// The best whole second; nothing where it is not known, or the run is shorter than one.
std::optional<std::uint64_t> shown_peak(const SummaryFigures& f);
/// ", peak 1,234/s", the best whole second; empty where the run is shorter than one.
std::string peak_text(const SummaryFigures& f);

/// Lengths of answers against those recorded; empty where all are as recorded.
std::string outputs_text(const SummaryFigures& f);

}  // namespace driftless
