/// Overhead: the tokens that a server adds around every prompt. Plain values.
#pragma once

#include <cstdint>

namespace driftless {

/// H = pre + post tokens, as the preflight found or `--overhead` says.
struct Overhead {
    std::uint32_t pre = 0;
    std::uint32_t post = 0;
    bool operator==(const Overhead&) const = default;
};

}  // namespace driftless
