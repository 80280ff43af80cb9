/// Why a trace is refused, as people see it: one line for each error, on standard error.
#pragma once

#include "proto/trace/row.hpp"

namespace driftless {

/// All that are listed, and then how many more there are.
void print_errors(const InputErrors& errors);

}  // namespace driftless
