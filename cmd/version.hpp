/// The version of the program, as `--version` and `run.json` give it.
#pragma once

namespace driftless {

/// "0.1.0"; from CMakeLists.txt. Static storage.
const char* version();

}  // namespace driftless
