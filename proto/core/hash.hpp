/// The mixing functions of all reproducible randomness, the digest of bulk bytes, and digests as
/// people and files have them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace driftless {

// The two mixing functions that all reproducible randomness and all digests are made of.
//
// Same input, same output, on every machine. Not for secrets.

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

// XXH64 (Yann Collet's xxHash, 64-bit, as its specification defines it): the digest of bulk bytes.
//
// For what is long and on a fast path: prompts, whole inputs. About four bytes a cycle. Two ways
// in, one result: `Xxh64` takes bytes in pieces of any size and carries up to 31 of them; a caller
// whose bytes stay contiguous anyway feeds whole stripes to `Xxh64Lanes` and needs no copy. Not
// for secrets.

/// The state over whole 32-byte stripes. Plain value; seed 0.
struct Xxh64Lanes {
    static constexpr std::size_t stripe = 32;
    static constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87ULL;
    static constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4FULL;
    static constexpr std::uint64_t prime3 = 0x165667B19E3779F9ULL;
    static constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63ULL;
    static constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5ULL;

    std::uint64_t lane[4] = {prime1 + prime2, prime2, 0, std::uint64_t{0} - prime1};

    /// Takes in `count` stripes.
    void add_stripes(const char* bytes, std::size_t count) {
        std::uint64_t a = lane[0];
        std::uint64_t b = lane[1];
        std::uint64_t c = lane[2];
        std::uint64_t d = lane[3];
        for (std::size_t i = 0; i < count; ++i, bytes += stripe) {
            a = round(a, load64(bytes));
            b = round(b, load64(bytes + 8));
            c = round(c, load64(bytes + 16));
            d = round(d, load64(bytes + 24));
        }
        lane[0] = a;
        lane[1] = b;
        lane[2] = c;
        lane[3] = d;
    }

    /// The hash of `total` bytes, of which all whole stripes were added and `tail` (total % 32
    /// bytes) follows.
    std::uint64_t finish(const char* tail, std::uint64_t total) const {
        std::uint64_t hash = prime5;
        if (total >= stripe) {
            hash = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) +
                   std::rotl(lane[3], 18);
            for (const std::uint64_t one : lane) {
                hash = (hash ^ round(0, one)) * prime1 + prime4;
            }
        }
        hash += total;
        std::size_t left = static_cast<std::size_t>(total % stripe);
        for (; left >= 8; left -= 8, tail += 8) {
            hash = std::rotl(hash ^ round(0, load64(tail)), 27) * prime1 + prime4;
        }
        if (left >= 4) {
            hash = std::rotl(hash ^ (load32(tail) * prime1), 23) * prime2 + prime3;
            left -= 4;
            tail += 4;
        }
        for (; left > 0; --left, ++tail) {
            hash = std::rotl(hash ^ (static_cast<unsigned char>(*tail) * prime5), 11) * prime1;
        }
        hash = (hash ^ (hash >> 33)) * prime2;
        hash = (hash ^ (hash >> 29)) * prime3;
        return hash ^ (hash >> 32);
    }

  private:
    static std::uint64_t round(std::uint64_t accumulator, std::uint64_t input) {
        return std::rotl(accumulator + input * prime2, 31) * prime1;
    }
    // The specification reads little-endian words; all hosts of this program are little-endian.
    static_assert(std::endian::native == std::endian::little);
    static std::uint64_t load64(const char* bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, sizeof word);
        return word;
    }
    static std::uint64_t load32(const char* bytes) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes, sizeof word);
        return word;
    }
};

/// A running XXH64 of bytes that come in pieces. The value does not depend on the cuts.
class Xxh64 {
  public:
    void add(std::string_view bytes) {
        total_ += bytes.size();
        if (carried_ > 0) {
            const std::size_t room = Xxh64Lanes::stripe - carried_;
            const std::size_t take = bytes.size() < room ? bytes.size() : room;
            std::memcpy(carry_ + carried_, bytes.data(), take);
            carried_ += take;
            bytes.remove_prefix(take);
            if (carried_ < Xxh64Lanes::stripe) {
                return;
            }
            lanes_.add_stripes(carry_, 1);
        }
        const std::size_t stripes = bytes.size() / Xxh64Lanes::stripe;
        lanes_.add_stripes(bytes.data(), stripes);
        bytes.remove_prefix(stripes * Xxh64Lanes::stripe);
        carried_ = bytes.size();
        if (carried_ > 0) {
            std::memcpy(carry_, bytes.data(), carried_);
        }
    }
    std::uint64_t value() const { return lanes_.finish(carry_, total_); }

  private:
    Xxh64Lanes lanes_;
    std::uint64_t total_ = 0;
    std::size_t carried_ = 0;
    char carry_[Xxh64Lanes::stripe] = {};
};

// Digests as people and files have them: 16 hex digits.

inline std::string hex_text(std::uint64_t value) {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[value >> shift & 15];
    }
    return text;
}

}  // namespace driftless
