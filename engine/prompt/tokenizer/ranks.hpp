/// Ranks: from tokens in the order of their merges to a byte-level BPE. Internal to `read_ranks`.
///
/// tiktoken merges two tokens where their bytes together are a token, the lowest rank first. Each
/// token then comes about in one way only, which is found once, by merging its own bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/prompt/tokenizer/bpe.hpp"

namespace driftless {

/// OpenAI's p50k_base has GPT-2's ranks and runs of blanks behind them. The rank between is that of
/// its special token, which no line has.
inline constexpr std::size_t p50k_ranks = 50'280;
inline constexpr TokenId p50k_hole = 50'256;

class Ranks {
  public:
    /// `first_id`: the id of the token of rank 0. Room for about that many tokens and bytes.
    Ranks(Bpe& bpe, TokenId first_id, std::size_t tokens, std::size_t bytes);

    /// False, and why, where the token or the rank is there already or cannot be.
    bool add(std::string_view token, std::uint64_t rank, std::string& why);
    /// Finds the merges. False, and why, where ranks or bytes are missing.
    bool finish(std::string& why);

  private:
    void find_merges();

    Bpe& bpe_;
    TokenId first_id_ = 0;
    std::size_t tokens_ = 0;
};

/// Appends the bytes that base64 (RFC 4648, section 4) stands for; false where it is none.
bool append_base64(std::string& out, std::string_view text);

}  // namespace driftless
