/// The rule sets that the program brings along: the files of cmd/rules/sets, put into the program
/// when it is built, so that it needs no path to them.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

struct ShippedRules {
    std::string_view name;  ///< of the file, without ".toml"
    std::string_view text;
};
/// By the names of their files.
std::span<const ShippedRules> shipped_rules();

}  // namespace driftless
