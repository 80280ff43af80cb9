/// `driftless inspect`: what is in a trace, what is wrong with it, what a cache of it could hit.
#pragma once

namespace driftless {

/// Returns the exit code. `argv[0]` is the command's name.
int run_inspect(int argc, char** argv);

}  // namespace driftless
