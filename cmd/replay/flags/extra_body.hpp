/// Whether `--extra-body` fits the bodies of the chosen API. Asks the dialect itself; prints
/// nothing.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Why its members cannot be in a body: the message without the program's name. Empty: they can.
std::string extra_body_contradiction(const RequestFlags& request);

/// Takes its placeholders apart (`row_body`). Returns one line that says what is wrong and what to
/// do, or the empty text.
std::string complete_extra_body(ReplayOptions& options);

}  // namespace driftless
