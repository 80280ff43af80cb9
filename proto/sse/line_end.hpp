/// Where a line ends, when LF, CRLF and CR all end lines. Internal to proto/sse.
#pragma once

#include <cstddef>
#include <cstring>

namespace driftless {

/// The first CR or LF of [begin, end), or `end`. Two memchr over windows that stay in the first
/// cache: as fast as one over both, and never quadratic, whichever of the two the stream lacks.
inline const char* find_line_end(const char* begin, const char* end) {
    constexpr std::ptrdiff_t window = 1024;
    while (begin < end) {
        const std::ptrdiff_t bytes = end - begin < window ? end - begin : window;
        const auto find = [begin](char wanted, std::ptrdiff_t within) {
            return static_cast<const char*>(
                std::memchr(begin, wanted, static_cast<std::size_t>(within)));
        };
        const char* const lf = find('\n', bytes);
        const char* const cr = find('\r', lf != nullptr ? lf - begin : bytes);
        if (cr != nullptr || lf != nullptr) {
            return cr != nullptr ? cr : lf;
        }
        begin += bytes;
    }
    return end;
}

}  // namespace driftless
