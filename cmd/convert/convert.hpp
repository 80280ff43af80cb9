/// `driftless convert`: a trace in, the same or another format out; crop, sample, scale, overlay.
#pragma once

namespace driftless {

/// Returns the exit code. `argv[0]` is the command's name.
int run_convert(int argc, char** argv);

}  // namespace driftless
