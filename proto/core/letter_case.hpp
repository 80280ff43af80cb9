/// Upper and lower case of ASCII letters, as names of headers, columns and flags compare. All other
/// bytes stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

char lower(char byte);
std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace driftless
