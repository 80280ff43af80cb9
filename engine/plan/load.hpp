/// Load: more or less of a trace: what is admitted, sampled and copied, before rows are selected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/plan/trees.hpp"
#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Admission: which whole families of a trace are played, by their length and their number.
//
// A server with a short context can not take every conversation. Leaving out single rows would
// change what the others share, so families (trees.hpp) stay or go whole: first those go that
// have a row which is too long, then those behind the first N. Pure.

struct AdmissionRules {
    std::optional<std::uint64_t> context_max;  ///< `--max-context`: tokens of a row, in and out
    std::optional<std::uint32_t> trees_max;    ///< `--max-trees`: families, in file order
    bool any() const { return context_max.has_value() || trees_max.has_value(); }
};

struct AdmissionFigures {
    std::uint32_t families = 0;  ///< 0 where none was asked to go
    std::uint32_t too_long = 0;  ///< left out for a row that is too long
    std::uint32_t kept = 0;
};

/// Rows of families that do not stay leave the trace, with what waits for them. Rows that stay keep
/// their indices and times.
void keep_families(const Families& families, const std::vector<bool>& stays, Trace& trace);

/// The trace may be empty afterwards.
AdmissionFigures admit(const AdmissionRules& rules, Trace& trace);

// Load: more or less of a trace without distorting it.
//
// A higher speed shortens the time between the uses of a prefix, and with it changes what a cache
// can hold; dropping rows at random cuts conversations. Copies and samples change how much comes
// and leave each conversation as it was. They are made of a trace as it was read, before anything
// is selected from it: first what is admitted, then what rows share that say nothing of it, then
// the sample, then the copies.

/// A share in billionths: 1 ... 1,000,000,000.
struct Share {
    std::uint64_t billionths = 1'000'000'000;
};
/// Reads "0.25" or "25%"; at most nine decimals. Errors: invalid; out_of_range (0, or above 1).
Result<Share> parse_share(std::string_view text);

/// `--share`: what rows without block ids have in common. Those that share are heads of one
/// sequence, each as long as it is, as turns are of a conversation that grows.
enum class Sharing : std::uint8_t { none, session, all };

/// Block size of traces that have none, where rows share: the usual page of servers.
inline constexpr std::uint32_t shared_block_size = 16;

/// `--replicate`: so many copies at once, or as many one after another as make so many rows.
struct Copies {
    Copies(std::uint32_t count_in = 1, std::uint32_t rows_in = 0)
        : count(count_in), rows(rows_in) {}
    std::uint32_t count;
    std::uint32_t rows;  ///< 0: `count` says
    bool operator==(const Copies&) const = default;
};
/// Most rows that copies may make.
inline constexpr std::uint32_t replicated_rows_max = 100'000'000;

struct LoadOptions {
    AdmissionRules admission;
    Sharing share = Sharing::none;
    /// `--sample-sessions`: the share of families (trees.hpp) that is kept, rounded, at least
    /// one. Whole families are kept or left out; a smaller share keeps a part of what a larger one
    /// keeps under the same seed.
    std::optional<Share> sample;
    /// `--replicate`: how many times the trace is overlaid on itself. A copy has block ids and
    /// sessions of its own ("NAME#1"), and begins later by an offset drawn from the seed.
    /// Where rows are counted a copy begins when the one before it has ended, a mean gap later.
    Copies copies;
    /// `--replicate-within`: the largest offset; 60 s, or a tenth of the trace where that is less.
    std::optional<std::int64_t> within_ns;
    std::uint64_t seed = 0;
};

/// Default of `within_ns`: beyond the grids of quantised traces, short beside their length.
inline constexpr std::int64_t replicate_within_ns = 60'000'000'000;

/// What came of it.
struct LoadFigures {
    std::uint32_t rows_read = 0;
    AdmissionFigures admission;
    std::uint32_t rows_sampled = 0;
    std::uint32_t families = 0;  ///< 0 where no sample was asked
    std::uint32_t families_sampled = 0;
    std::uint32_t copies = 1;
    bool in_turn = false;  ///< copies follow each other
    std::int64_t within_ns = 0;
    Sharing share = Sharing::none;
    std::uint32_t rows_sharing = 0;
};

/// A trace that was reshaped, and what came of it.
struct LoadedTrace {
    Trace trace;
    LoadFigures figures;
};

/// Reshapes a trace as it was read, which it takes. Rows of the sample keep their indices and their
/// times; copy k of the row with index i has the index i + k * rows_read, so that indices stay
/// unique and say where a row comes from. Ids are not copied: copies differ in their namespace.
/// Errors: not_found, where nothing is admitted; out_of_range, where rows, namespaces or sessions
/// would not fit 32 bits; exists, where rows that are to share have block ids; missing, where
/// sessions are to share and there are none.
Result<LoadedTrace> apply_load(const LoadOptions& options, Trace trace);

}  // namespace driftless
