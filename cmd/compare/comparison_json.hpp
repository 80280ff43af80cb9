/// A comparison as one JSON object; its schema is compare.schema.json. Pure.
#pragma once

#include <string>

#include "cmd/compare/comparison.hpp"

namespace driftless {

/// With a newline at the end. Of a refused comparison: `same_work`, `differences`, the runs, and no
/// metrics.
std::string comparison_json(const Comparison& comparison);

}  // namespace driftless
