/// Digests as people and files have them: 16 hex digits.
#pragma once

#include <cstdint>
#include <string>

namespace driftless {

inline std::string hex_text(std::uint64_t value) {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[value >> shift & 15];
    }
    return text;
}

}  // namespace driftless
