/// Checks that need the whole trace, after its last row.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Tails: whether every block id names one block, of one length.
//
// A partial last block has an id too (TailRule::ceil), and in every public trace an id has one
// length wherever it stands. Where it has two, its blocks share the shorter one's tokens: sharing
// is less than equal ids promise, which a person should know. Pure.

/// The number of ids that name a partial block of one length and, in another row, a block of
/// another. Each counts once in its namespace.
std::uint64_t uneven_tails(const Trace& trace);

// Checks that need the whole trace, after its last row.
//
// Columns that no row had, rows without ids beside rows with some, block sizes that other rows
// contradict, and times whose unit only the whole trace shows.

/// Lists what is wrong with the rows that were read. `whole` names the last file and no line;
/// `format` is not null if there are rows; `model_column` is `--map model=COLUMN`. Sets the block
/// size if the data show it.
void check_whole_trace(const RowContext& whole, const TraceFormat* format,
                       std::string_view model_column);

}  // namespace driftless
