/// `driftless synth like TRACE`: whole trees of a real trace, and how well they keep what it is.
#pragma once

#include <string>
#include <vector>

namespace driftless {

/// `arguments`: those after "synth like". Returns the exit code.
int run_like(const std::vector<std::string>& arguments);

}  // namespace driftless
