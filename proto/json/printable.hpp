/// Words of others as a terminal may get them: nothing in them moves its cursor, sets its title or
/// begins a line. A pure function on text; JSON files escape such bytes by themselves.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

/// `text` with its control characters (U+0000 to U+001F, U+007F to U+009F) as `\u00XX`, and U+FFFD
/// in the place of each byte that is no UTF-8.
std::string printable(std::string_view text);

}  // namespace driftless
