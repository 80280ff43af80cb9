/// Whether `--extra-body` fits the bodies of the chosen API. Asks the dialect itself; prints
/// nothing.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Why its members cannot be in a body: the message without the program's name. Empty: they can.
std::string extra_body_contradiction(const RequestFlags& request);

}  // namespace driftless
