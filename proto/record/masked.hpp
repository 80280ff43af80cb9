/// Words of others, as records and screens may hold them: without the run's secrets, and short.
///
/// Pure functions on text, used wherever a server's words leave the program. What is read out of an
/// answer is masked once it is decoded and not before: a short key is a part of ordinary words, and
/// an answer without those could not be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// What stands in the place of a secret.
inline constexpr std::string_view mask_text = "***";
/// Shorter values are no secrets: they would mask ordinary words. So much of one, and no more, may
/// be left where its text was cut.
inline constexpr std::size_t secret_bytes_min = 4;

/// Replaces every occurrence of a secret, then cuts at a code point to `bytes_max`. Where the text
/// itself was cut before, it may end in the head of a secret: that goes, too. Of two secrets that
/// begin alike the longer one comes first.
std::string masked(std::string_view text, const std::vector<std::string>& secrets,
                   std::size_t bytes_max);

}  // namespace driftless
