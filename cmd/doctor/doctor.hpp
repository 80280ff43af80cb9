/// `driftless doctor`: what a replay needs of this host, what is missing, and the remedy.
#pragma once

namespace driftless {

/// Runs the command; `argv[0]` is its name. Returns the exit code: 7 where a replay cannot run.
int run_doctor(int argc, char** argv);

}  // namespace driftless
