/// `driftless find`: the highest load at which a server meets an SLO.
#pragma once

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_find(int argc, char** argv);

}  // namespace driftless
