/// The summary as a table of 80 columns, about 40 lines, in the order in which a person asks:
/// can I believe it, what failed, how much load was it, how fast were the answers, what did the
/// cache hit, was the client on time. Text out; it computes nothing and prints nothing.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/table_kind.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

/// `--table`: this one, or the long one of full_table.hpp.
std::string summary_table(const SummaryFigures& figures, const SummaryInfo& info,
                          TableKind kind = TableKind::compact);

}  // namespace driftless
