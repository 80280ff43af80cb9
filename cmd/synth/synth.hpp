/// `driftless synth`: a workload without a recording, as a trace.
#pragma once

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_synth(int argc, char** argv);

}  // namespace driftless
