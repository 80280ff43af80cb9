/// What the flags ask of every body, before the server has said what it takes. Pure.
#pragma once

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// With the model and the kind of prompt that were typed; the preflight may choose others.
BodySpec body_spec(const RequestFlags& request);

}  // namespace driftless
