/// Warm cache: whether the prefix cache held prompts of an earlier run, by the probe before the
/// first row and by what the rows hit. Pure.
///
/// A warm cache makes TTFT too low, and the client could not have prevented it: the verdict names
/// it among its reasons, and stays what it is.
#pragma once

#include <optional>
#include <string>

#include "engine/stats/cache_probe.hpp"
#include "proto/json/write.hpp"

namespace driftless {

struct SummaryFigures;

/// What the rows' own hits say.
struct WarmRows {
    enum class Finding : std::uint8_t { nothing, smaller_blocks_or_warm, warm };
    Finding finding = Finding::nothing;
    std::string figures;  ///< a clause with the tokens; empty where nothing was found
};
WarmRows warm_rows(const SummaryFigures& figures);

/// Whether the cache was warm; nothing where neither probe nor rows can tell.
std::optional<bool> was_warm(const SummaryFigures& figures, const CacheProbe& probe);

/// The warning for people, with the remedy; empty: there is nothing to warn of.
std::string warm_warning(const SummaryFigures& figures, const CacheProbe& probe);
/// The reason of the verdict, a clause; empty: the cache was not seen to be warm.
std::string warm_reason(const SummaryFigures& figures, const CacheProbe& probe);

/// The key `warm_cache` with its object.
void write_warm_cache(JsonWriter& json, const SummaryFigures& figures, const CacheProbe& probe);

}  // namespace driftless
