/// How many trees of a run were answered whole, from its records. Reads the file, prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

/// As `report --trees` counts them. Nothing where the file cannot be read.
std::optional<std::uint64_t> count_finished_trees(const std::string& records_path);

}  // namespace driftless
