/// `driftless synth`: a workload without a recording, as a trace.
#pragma once

#include <string>
#include <vector>

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_synth(int argc, char** argv);

/// The words that may follow "synth", each with flags of its own: "random", "stress reuse".
std::vector<std::string> synth_kinds();

}  // namespace driftless
