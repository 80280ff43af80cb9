/// Why a trace is refused, as people see it: one line for each error, on standard error.
#pragma once

#include "proto/trace/row.hpp"

namespace driftless {

/// All that are listed, and then how many more there are.
void print_errors(const InputErrors& errors);

/// Why no row is selected, with the length of the trace; further flags of the command may follow:
/// "no row of the trace is selected: its last row comes at 11.750 s; widen --start, --end".
std::string nothing_selected(const Trace& trace);

}  // namespace driftless
