/// The command `driftless mock`: an inference server to rehearse against.
#pragma once

namespace driftless {

/// Serves until SIGINT or SIGTERM, or `--max-requests`. `argv[0]` is the command's name. Returns
/// the exit code: 0 done, 2 usage, 7 the host lacks or fails.
int run_mock(int argc, char** argv);

}  // namespace driftless
