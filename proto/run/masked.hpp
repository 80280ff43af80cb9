/// Text from outside, as records and screens may hold it: without the run's secrets, and short.
///
/// Pure functions on text, used wherever a server's words leave the program. Text is masked after
/// an answer was decoded and not before: a short key can be part of ordinary words, and an answer
/// without those could not be parsed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// What stands in the place of a secret.
inline constexpr std::string_view mask_text = "***";
/// Shorter values are not masked: they would mask ordinary words. At most this many bytes of a
/// secret may remain where its text was cut.
inline constexpr std::size_t secret_bytes_min = 4;

/// Replaces every occurrence of a secret, then cuts at a code point to `bytes_max`. If the text
/// itself was cut before, it may end in the beginning of a secret: that is removed, too. Of two
/// secrets with the same beginning, the longer one is matched first.
std::string masked(std::string_view text, const std::vector<std::string>& secrets,
                   std::size_t bytes_max);

}  // namespace driftless
