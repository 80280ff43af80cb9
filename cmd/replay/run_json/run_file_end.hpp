/// The last part of run.json: what the end of a run adds. Called by run_file.cpp alone.
#pragma once

#include <optional>

#include "cmd/replay/run_json/run_file.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Key and value of `end`: an object, or null while the run has not ended.
void write_run_end(JsonWriter& json, const std::optional<RunEnd>& end);

}  // namespace driftless
