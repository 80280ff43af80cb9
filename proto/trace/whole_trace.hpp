/// Checks that need the whole trace, after its last row.
///
/// Columns that no row had, rows without ids beside rows with some, block sizes that other rows
/// contradict, and times whose unit only the whole trace shows.
#pragma once

#include <string_view>

#include "proto/trace/format.hpp"

namespace driftless {

/// Lists what is wrong with the rows that were read. `whole` names the last file and no line;
/// `format` is not null if there are rows; `model_column` is `--map model=COLUMN`. Sets the block
/// size if the data show it.
void check_whole_trace(const RowContext& whole, const TraceFormat* format,
                       std::string_view model_column);

}  // namespace driftless
