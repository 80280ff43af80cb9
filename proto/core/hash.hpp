/// The two mixing functions that all reproducible randomness and all digests are made of.
///
/// Same input, same output, on every machine. Not for secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftless {

/// The odd constant of splitmix64: 2^64 divided by the golden ratio.
inline constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15ULL;

/// The splitmix64 finaliser (Steele, Lea, Flood, OOPSLA 2014): a bijection on 64 bits.
constexpr std::uint64_t mix64(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// A stream of 64-bit numbers from a seed (splitmix64). Copyable value; no global state.
class Random {
  public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() {
        state_ += golden_gamma;
        return mix64(state_);
    }
    /// Uniform in [0, bound); 0 for bound 0. The bias is below 2^-32 for bounds under 2^32.
    constexpr std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }
    /// Uniform in [0, 1), 53 bits.
    constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  private:
    std::uint64_t state_;
};

/// A running 64-bit digest of bytes (FNV-1a folded through mix64 at the end). The digest of a text
/// does not depend on how it was cut into pieces.
class Digest {
  public:
    constexpr void add(std::string_view bytes) {
        for (const char byte : bytes) {
            state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
        }
    }
    constexpr void add_u64(std::uint64_t value) { state_ = mix64(state_ ^ value) + golden_gamma; }
    constexpr std::uint64_t value() const { return mix64(state_); }

  private:
    std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

}  // namespace driftless
