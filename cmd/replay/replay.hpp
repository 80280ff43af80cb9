/// `driftless replay`: the main job.
#pragma once

namespace driftless {

/// Runs the command; `argv[0]` is its name. Returns the exit code (design, section 4).
int run_replay(int argc, char** argv);

}  // namespace driftless
