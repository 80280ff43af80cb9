/// What run.json says of the kernel's stamps: which were asked for, how they came, and why not.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "engine/io/uring.hpp"
#include "engine/replay/run.hpp"

namespace driftless {

/// The stamps that a driver of this run asks for.
StampSupport stamps_of(StampRule rule);

/// Of a run that has ended.
StampFacts stamp_facts(StampRule rule, const UringDriver& driver, Run& run);

}  // namespace driftless
