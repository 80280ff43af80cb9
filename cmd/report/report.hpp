/// `driftless report`: the summary of a run, rebuilt from what it wrote: of one that was killed, or
/// still goes on, as far as it came.
#pragma once

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_report(int argc, char** argv);

}  // namespace driftless
