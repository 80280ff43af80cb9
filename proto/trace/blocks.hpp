/// Finds, from a trace's data, which block size and which rule its ids follow.
///
/// For formats that do not say it. The candidates are the powers of two from 16 to 1024, or the
/// size that is declared (trace-formats 12.3). If several candidates fit equally well, it chooses
/// none: the user must say it.
#pragma once

#include <cstdint>

#include "proto/trace/format.hpp"

namespace driftless {

/// Holds all rows that have ids against the candidates, sets the trace's block size and rule, and
/// lists what contradicts them. `--lenient` fixes such rows. `context.rules.block_size` is the
/// declared size, or 0.
void settle_blocks(RowContext& context);

}  // namespace driftless
