/// The name that somebody may have meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// The name nearest to a mistyped one: at most 2 letters are wrong, and two that are swapped count
/// as one. Of equally near ones, that which begins alike for longer. Where none is near, those that
/// begin with what was typed, "--timeout-idle or --timeout-total"; else empty.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace driftless
