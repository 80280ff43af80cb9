/// resample: whole trees of a real trace, as often and as densely as is asked.
///
/// A tree is what hangs together (engine/plan/trees.hpp): it is taken whole, with its lengths,
/// its gaps and what its rows share. Trees come in passes over the trace, each once; a last pass
/// that is not whole takes one tree, drawn, of each of so many equal parts of them. The k-th tree
/// of a pass begins when the k-th tree of the trace did, a little later (drawn, at most a minute,
/// at most a tenth of the trace). Another rate moves only the begins of trees.
///
/// Block ids are numbered anew, in one namespace. Blocks that several trees have stay what they are
/// in every pass; blocks of one tree alone are fresh in each of its copies. So a copy shares with
/// its other copies what it shares with other trees, and nothing else.
///
/// Pure. Memory: the trace that is made, and 24 bytes a distinct block of the one that is read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
