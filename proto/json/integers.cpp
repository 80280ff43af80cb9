#include "proto/json/integers.hpp"

#include <bit>
#include <charconv>
#include <cstring>

namespace driftless {
namespace {

static_assert(std::endian::native == std::endian::little, "digits are read as bytes of a word");

constexpr std::size_t digits_max = 20;  // of 2^64 - 1

const char* skip_blanks(const char* p) {
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') {
        ++p;
    }
    return p;
}

/// Eight digits as the bytes of a word, the first one lowest, to their value: pairs, fours, eight.
std::uint64_t value_of_eight(std::uint64_t digits) {
    constexpr std::uint64_t pairs = 0x0000'00FF'0000'00FF;
    digits = digits * 10 + (digits >> 8);
    const std::uint64_t high = (digits & pairs) * 0x000F'4240'0000'0064;
    const std::uint64_t low = ((digits >> 16) & pairs) * 0x0000'2710'0000'0001;
    return (high + low) >> 32;
}

/// Where the number ends, or nullptr where none begins.
const char* read_long(const char* p, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(p, p + digits_max, out);
    return error == std::errc() ? end : nullptr;
}

const char* read_integer(const char* p, std::uint64_t& out) {
    std::uint64_t digits = 0;
    std::memcpy(&digits, p, sizeof digits);
    digits ^= 0x3030'3030'3030'3030;
    // The high bit of each byte that is no digit. A carry comes from such a byte only, and what
    // stands behind the first one does not matter.
    const std::uint64_t others =
        ((digits + 0x7676'7676'7676'7676) | digits) & 0x8080'8080'8080'8080;
    const int count = std::countr_zero(others) / 8;
    if (count == 0 || (count > 1 && *p == '0')) {
        return nullptr;
    }
    if (count == 8) {
        return read_long(p, out);
    }
    out = value_of_eight(digits << (64 - 8 * count));
    return p + count;
}

}  // namespace

IntegerList read_integer_list(const char* text, std::uint64_t* out, std::size_t room) {
    const char* p = text;
    for (std::size_t count = 0; count < room; ++count) {
        p = read_integer(skip_blanks(p), out[count]);
        if (p == nullptr) {
            return {};
        }
        p = skip_blanks(p);
        if (*p == ']') {
            return {count + 1, p};
        }
        if (*p++ != ',') {
            return {};
        }
    }
    return {};
}

}  // namespace driftless
