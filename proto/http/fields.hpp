/// Header fields inside a head that was collected as bytes. Pure functions over views.
#pragma once

#include <string_view>

namespace driftless {

/// Walks the header fields of a head (status or request line included or not): the value of the
/// first field of that name (case-insensitive, blanks trimmed), or nullptr data where there is
/// none. A field with an empty value gives an empty view with data.
std::string_view header_value(std::string_view head, std::string_view name);

/// Without the blanks and tabs around it.
std::string_view trim_blanks(std::string_view text);

/// ASCII only, as header names compare.
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace driftless
