/// The text of `driftless replay --help` behind its flags.
#pragma once

#include <string>

namespace driftless {

/// What durations are, the APIs with a line each, headers of rows, and exit codes.
std::string replay_help_footer();

}  // namespace driftless
