/// The tables of servers' metrics that the program brings along: engine/scrape/*.toml, put into the
/// program when it is built.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

struct ShippedMapping {
    std::string_view name;  ///< of the file, without ".toml"
    std::string_view text;
};
/// By the names of their files.
std::span<const ShippedMapping> shipped_mappings();

}  // namespace driftless
