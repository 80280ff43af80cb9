/// `driftless sweep`: a trace played once for each combination of values.
#pragma once

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_sweep(int argc, char** argv);

}  // namespace driftless
