/// How much memory a run has used, part by part. A plain function from its parts to values.
#pragma once

#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/run.hpp"

namespace driftless {

/// `before`: the marks of the blocks that were built before the run.
RunMarks run_marks(Run& run, RequestPass& pass, const EventRing& ring, ReplayParts& parts,
                   const PromptBuilder::CacheMarks& before);

}  // namespace driftless
