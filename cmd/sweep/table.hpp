/// What people see of a sweep: a line per cell, and a table of all. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "cmd/sweep/ledger.hpp"

namespace driftless {

/// "cell 3 of 6  speed=4 users=8  ", without the end of the line.
std::string cell_begins(const Ledger& ledger, std::size_t index);
/// The rest of it: what came of the cell.
std::string cell_ends(const LedgerCell& cell);

/// A row per combination, means of its repeats; below, what is not in them, and why.
std::string sweep_table(const Ledger& ledger);

}  // namespace driftless
