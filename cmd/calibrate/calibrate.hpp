/// `driftless calibrate`: what this host can promise, in about 20 s.
#pragma once

namespace driftless {

/// Runs the command; `argv[0]` is its name. Returns the exit code (design, section 4).
int run_calibrate(int argc, char** argv);

}  // namespace driftless
