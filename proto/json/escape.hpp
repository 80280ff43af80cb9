/// Escapes inside JSON strings, read. Internal to proto/json.
#pragma once

#include <string_view>

namespace driftless {

/// Writes the unescaped text of `escaped` (without quotes) at `out`, which has room for as many
/// bytes as `escaped` has: unescaping never grows. Returns the end, or nullptr for an escape that
/// JSON does not know. A surrogate without its partner becomes U+FFFD.
char* unescape_json(std::string_view escaped, char* out);

}  // namespace driftless
