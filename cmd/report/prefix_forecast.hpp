/// What the prompts of a run share, from its trace, which is read again: the hit rate of a prefix
/// cache by its size, and the tree of shared prefixes with what the server has hit of each. For the
/// page; prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/report/reported_run.hpp"
#include "engine/inspect/capacity.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// A request that was sent, as far as the forecast needs it.
struct SentPrompt {
    std::uint32_t row = 0;
    OptionalNs input_length;
    OptionalNs cached_tokens;
};

/// Consecutive blocks that the same prompts have in common.
struct SharedPrefix {
    std::int64_t parent = -1;  ///< index of the prefix before it; -1: a prompt begins with it
    std::uint64_t begin = 0;   ///< tokens of the prompt before it
    std::uint64_t tokens = 0;
    std::uint64_t prompts = 0;   ///< that have it
    std::uint64_t reported = 0;  ///< of these, the server said what it had cached
    std::uint64_t hits = 0;      ///< of these, it took all of it from the cache
};

struct PrefixForecast {
    std::string why_not;  ///< a sentence for people; empty: the rest holds
    CapacityFigures capacity;
    std::uint64_t cached_tokens = 0;    ///< as reported
    std::uint64_t reported_tokens = 0;  ///< of the prompts whose server said what it had cached
    std::uint64_t shown_from = 2;       ///< prefixes of fewer prompts are left out
    std::vector<SharedPrefix> prefixes;
};

/// Larger traces are not read again: a page is to be there a second after the run.
inline constexpr std::uint64_t forecast_trace_bytes_max = std::uint64_t{64} << 20;
/// The most that a chart can show apart.
inline constexpr std::size_t shared_prefixes_max = 2000;

/// `sent` in the order in which they left.
PrefixForecast forecast_prefixes(const Trace& trace, const std::vector<SentPrompt>& sent);
/// The same, where the files of the trace are still those of the run.
PrefixForecast forecast_prefixes(const ReportedRun& run, const std::vector<SentPrompt>& sent);

void write_forecast(JsonWriter& json, const PrefixForecast& forecast);

}  // namespace driftless
