/// The secret salt of `--from-logs`: read from a file or the environment, never from the command
/// line, where others could see it.
#pragma once

#include <string>

namespace driftless {

/// Fewest bytes of a salt: a guess among 2^64 or more, with room for letters and digits.
inline constexpr std::size_t salt_bytes_min = 16;
inline constexpr std::size_t salt_bytes_max = 4096;

/// Reads the salt from `file`, or, if that is empty, from the environment variable `variable`;
/// blanks and newlines at its end do not count. Returns the empty text, or one line that says why
/// there is no salt and what to do.
std::string read_salt(const std::string& file, const std::string& variable, std::string& salt);

}  // namespace driftless
