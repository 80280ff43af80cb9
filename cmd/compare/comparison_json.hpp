/// A comparison as one JSON object; its schema is compare.schema.json. Pure.
#pragma once

#include <string>

#include "cmd/compare/comparison.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// With a newline at the end. Of a refused comparison: `same_work`, `differences`, the runs, and no
/// metrics.
std::string comparison_json(const Comparison& comparison);

/// An array of objects: value, by, groups.
void write_where(JsonWriter& json, const std::vector<ChangeView>& views, RowValue value);

}  // namespace driftless
