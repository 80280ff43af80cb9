/// Block ids of real prompts: a chain of keyed hashes over blocks of tokens.
///
/// An id is the first 64 bits of HMAC(secret, value of the block before, tokens of this one), so
/// equal ids mean equal prefixes under one secret, and ids under different secrets have nothing to
/// do with each other. The chain goes on with all 256 bits: ids that collide (one chance in 10^7
/// among a million blocks) do not make what follows collide. The last, partial block has an id,
/// too. Owns nothing but scratch; the hash outlives it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/crypto/keyed_hash.hpp"
#include "engine/prompt/tokenizer/vocabulary.hpp"

namespace driftless {

class PromptBlocks {
  public:
    /// `block_size` is at least 1.
    PromptBlocks(KeyedHash& hash, std::uint32_t block_size);

    /// Appends the ids of a prompt of `length` tokens, of which `tokens` are known. Where there are
    /// more, those beyond `length` are left out. Where there are fewer, the rest is unknown: it is
    /// the same only behind the same tokens in a prompt of the same length.
    void append(std::span<const TokenId> tokens, std::uint32_t length,
                std::vector<std::uint64_t>& ids);

  private:
    void add_u32(std::uint32_t value);

    KeyedHash& hash_;
    std::uint32_t block_size_;
    KeyedHash::Value first_;  ///< where every chain begins
    std::vector<unsigned char> bytes_;
};

}  // namespace driftless
