/// Columns of whole numbers as a page holds them (page_column.hpp), from plain values.
#pragma once

#include <string>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

struct WholeColumn {
    std::string name;
    const char* unit = "";
    std::vector<double> values;  ///< rounded; what is not finite is null
};

/// Columns of equal length as an array of objects; columns.js reads them back.
void write_whole_columns(JsonWriter& json, const std::vector<WholeColumn>& columns);

}  // namespace driftless
