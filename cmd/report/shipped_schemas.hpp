/// The schemas of a run's files, put into the program when it is built: the one list of columns and
/// figures, with units and definitions.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

struct ShippedSchema {
    std::string_view name;  ///< "client", "period", "record", "summary", ..
    std::string_view text;  ///< JSON
};
/// By name.
std::span<const ShippedSchema> shipped_schemas();

}  // namespace driftless
