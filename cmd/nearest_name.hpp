/// The name that somebody may have meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// The name nearest to a mistyped one, or empty where none is near (2 edits). Of equally near ones,
/// that which begins alike for longer.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace driftless
