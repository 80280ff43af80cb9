/// What the fuzz targets share: how an input chooses a split, and a check that stays on.
#pragma once

#include "proto/core/errors.hpp"
#include "tests/std.hpp"

namespace driftless {

/// The first two bytes of an input say where the rest is cut; shorter inputs are not used.
struct FuzzInput {
    std::string_view bytes;
    std::size_t split = 0;
};

inline FuzzInput read_input(std::string_view input) {
    if (input.size() < 2) {
        return {};
    }
    const std::string_view bytes = input.substr(2);
    const std::size_t wanted =
        static_cast<std::uint8_t>(input[0]) + 256u * static_cast<std::uint8_t>(input[1]);
    return {bytes, bytes.empty() ? 0 : wanted % (bytes.size() + 1)};
}

/// The input whole, in two, and byte by byte. Each piece is its own allocation, so that a reader
/// that looks past it is caught.
inline std::vector<std::vector<std::vector<char>>> ways_to_feed(const FuzzInput& input) {
    const auto copy = [](std::string_view text) {
        return std::vector<char>(text.begin(), text.end());
    };
    std::vector<std::vector<char>> singles;
    for (const char byte : input.bytes) {
        singles.push_back({byte});
    }
    return {{copy(input.bytes)},
            {copy(input.bytes.substr(0, input.split)), copy(input.bytes.substr(input.split))},
            singles};
}

/// Checks that a reader gives the same for each of them.
template <typename Read>
void check_every_way(const FuzzInput& input, Read read) {
    const auto ways = ways_to_feed(input);
    const auto whole = read(ways[0]);
    CHECK(read(ways[1]) == whole);
    CHECK(read(ways[2]) == whole);
}

}  // namespace driftless
