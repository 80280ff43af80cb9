/// The model of each row: `--model "{kept.COLUMN}"`, or `--map model=COLUMN`, which means the same.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Turns `model` of the map into a kept column, and a model with placeholders into `row_model`.
/// Returns one line that says what is wrong and what to do, or the empty text.
std::string complete_model(ReplayOptions& options);

}  // namespace driftless
