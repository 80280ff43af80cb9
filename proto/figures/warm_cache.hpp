/// Warm cache: whether the prefix cache held prompts of an earlier run, by the probe before the
/// first row and by what the rows hit. Pure.
///
/// A warm cache makes TTFT too low, and the client could not have prevented it: the verdict names
/// it among its reasons, and stays what it is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "proto/core/names.hpp"
#include "proto/json/members.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// CacheProbe: what was seen of the servers' prefix caches before the first row. Values; who asks
// is engine/server/checks.hpp. run.json keeps them, and the summary says them.

/// Of several servers the last one holds.
enum class CacheState : std::uint8_t {
    off,  ///< not asked
    cold,
    unknown,  ///< asked, and the answers do not say
    warm,
};
template <>
inline constexpr auto closed_list<CacheState> = name_list("off", "cold", "unknown", "warm");

struct CacheProbe {
    CacheState state = CacheState::off;
    std::string why;                  ///< of `off` and `unknown`, as a clause; may be empty
    std::uint64_t tokens = 0;         ///< of the prompts that say so, one a server
    std::uint64_t cached_tokens = 0;  ///< of these, found in the cache
    /// `--reset-cache`: the paths that emptied the caches, as of a request; empty: none was asked.
    std::string reset;
};
void walk(auto& fields, IsOf<CacheProbe> auto& probe) {
    fields.value("state", 2, probe.state);
    fields.text("why", 2, probe.why);
    fields.value("tokens", 2, probe.tokens);
    fields.value("cached_tokens", 2, probe.cached_tokens);
    fields.text("reset", 2, probe.reset);
}

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

// CacheExcess: hits that no row of the run can have left in the cache, so that it was warm before.
//
// The sum of all hits does not show them where the cache is smaller than the trace: blocks that
// are evicted at the end hide those that were there at the beginning. So each stretch of rows is
// looked at by itself, rows i to k of the file. Let m be the last row that left before all of
// these had their first token: the server has seen no row behind it by then. Each forecast assumes
// that every row before is in the cache. So rows i to k cannot hit more than the forecasts of rows
// i to m in sum, in whatever order the server took them and whatever it evicted. What they hit
// beyond that is the excess.
//
// Takes records in any order, those of failed rows too. 32 bytes a row. Pure.

/// Two prompts may begin with so many equal tokens by accident; a server with small blocks hits
/// them.
inline constexpr std::uint64_t alike_tokens_max = 16;
/// A server with smaller blocks than the trace also hits a part of the block behind the last whole
/// one that is shared. Mooncake's 512 is the largest block of the known formats.
inline constexpr std::uint64_t trace_block_max = 512;

class CacheExcess {
  public:
    /// `template_pre`: tokens before every prompt, which all rows share.
    void add(const Record& record, std::uint64_t template_pre);
    /// Tokens of the stretch that has the most; 0 where none has any. Sorts a copy.
    std::uint64_t tokens() const;

  private:
    struct Row {
        std::uint32_t row;
        std::uint32_t cached;    ///< tokens; 0 where the server does not say
        std::uint32_t forecast;  ///< tokens at most
        std::int64_t fired_ns;
        std::int64_t seen_ns;  ///< its prompt had been looked up by then
    };

    std::deque<Row> rows_;
};

}  // namespace driftless
