/// Load: more or less of a trace: what is admitted, sampled and copied before rows are selected,
/// and whole trees of a trace drawn as often and as densely as is asked (resample).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
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
    std::uint32_t count = 1;
    std::uint32_t rows = 0;  ///< 0: `count` says
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

/// Reshapes a trace as it was read; after an error it may hold anything. Rows of the sample keep
/// their indices and their times; copy k of the row with index i has the index i + k * rows_read,
/// so that indices stay unique and say where a row comes from. Ids are not copied: copies differ in
/// their namespace. Errors: not_found, where nothing is admitted; out_of_range, where rows,
/// namespaces or sessions would not fit 32 bits; exists, where rows that are to share have block
/// ids; missing, where sessions are to share and there are none.
Result<LoadFigures> apply_load(const LoadOptions& options, Trace& trace);

// resample: whole trees of a real trace, as often and as densely as is asked.
//
// A tree is what hangs together (engine/plan/trees.hpp): it is taken whole, with its lengths,
// its gaps and what its rows share. Trees come in passes over the trace, each once; a last pass
// that is not whole takes one tree, drawn, of each of so many equal parts of them. The k-th tree
// of a pass begins when the k-th tree of the trace did, a little later (drawn, at most a minute,
// at most a tenth of the trace). Another rate moves only the begins of trees.
//
// Block ids are numbered anew, in one namespace. Blocks that several trees have stay what they are
// in every pass; blocks of one tree alone are fresh in each of its copies. So a copy shares with
// its other copies what it shares with other trees, and nothing else.
//
// Pure. Memory: the trace that is made, and 24 bytes a distinct block of the one that is read.

struct LikeOptions {
    std::uint64_t seed = 0;
    // At most one of these; none: as many trees as the trace has, or, at another rate, as many as
    // it would have.
    std::optional<std::uint64_t> trees;
    std::optional<std::uint64_t> rows;      ///< about so many: trees are whole
    std::optional<std::int64_t> length_ns;  ///< trees that begin within it
    /// Rows a second, where the trace has them so long. Not beside `users`.
    std::optional<double> per_second;
    /// So many trees live at a time: the next one begins where one ends. 0: by their begins.
    std::uint32_t users = 0;
};

/// Rows that are made at most: they are held in memory.
inline constexpr std::uint64_t like_rows_max = 100'000'000;

struct LikeTrace {
    Trace trace;
    std::vector<std::uint32_t> tree_of_row;  ///< [position in its rows]
    std::uint64_t trees = 0;
};

/// Errors: missing, where the trace has no rows; unsupported, where its rows are in words;
/// out_of_range, above `like_rows_max`; invalid, where a rate or a length is asked of a trace whose
/// rows have one instant.
Result<LikeTrace> resample(const Trace& trace, const LikeOptions& options);

}  // namespace driftless
